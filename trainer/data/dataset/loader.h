/* Data loader for batches: ready batches, in order, filled ahead from a source by worker threads.
 *
 *     struct loader_options options = {...};
 *     struct loader *loader = NULL;
 *     if (loader_start(&options, &loader, err) != 0) return -1;
 *     switch (loader_next(loader, deadline, &batch, err)) { case LOADER_BATCH: ... }
 *     loader_release(loader, batch);
 *     loader_done(loader);
 *
 * Batches are slots of a ring allocated once, each one block; workers write directly into them.
 * Their order and content depend only on source, sampler, epoch and step, not on the number of
 * threads. When shuffling, the loader continues from epoch to epoch up to `epochs`; a loader
 * started at (epoch, step) returns exactly the batches that an earlier one would have returned
 * from there.
 *
 * A sample that cannot be read or decoded gives LOADER_BAD, with an error that names its file.
 * loader_next returns it in place of the sample's batch, so that earlier batches are not lost, and
 * after all batches ahead are read, so that `faults` includes their faults. If some may be bad
 * (`bad_allowed`), their places are marked as unused (source.h) and the other places stay the
 * same.
 *
 * One consumer thread. loader_done may be called at any time; it waits for samples in progress. */
#ifndef TRAINER_DATA_DATASET_LOADER_H
#define TRAINER_DATA_DATASET_LOADER_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/loader_options.h"

#include <stdint.h>

enum loader_result {
    LOADER_ERROR = -1,
    LOADER_BATCH = 0,
    LOADER_END = 1,      /* the last epoch has ended */
    LOADER_DEADLINE = 2, /* nothing ready yet; ask again */
    LOADER_BAD = 3,      /* like an error, but of the data: the next batch cannot be made */
};

struct loader;

int loader_start(const struct loader_options *options, struct loader **ret_loader,
                 struct error *err);
/* Ends only the workers, for the case that a device may not release the batches; NULL is fine. */
void loader_stop(struct loader *loader);
/* Stops and frees; NULL is fine. */
void loader_done(struct loader *loader);

/* Waits for the next batch until DEADLINE (common/clock.h). *RET_BATCH stays valid until it is
 * released; at most depth - 1 may be held at once, and they must be released in order. */
enum loader_result loader_next(struct loader *loader, int64_t deadline,
                               const struct batch **ret_batch, struct error *err);
void loader_release(struct loader *loader, const struct batch *batch);

/* Makes a waiting loader_next return LOADER_DEADLINE, now or at its next call, once. May be called
 * from any thread, but not from a signal handler. */
void loader_interrupt(struct loader *loader);

struct loader_figures {
    int64_t wait_ns; /* time that loader_next has waited: the stall of the steps */
    int64_t batches; /* batches returned */
    int ready;       /* batches ready now */
};
void loader_figures(struct loader *loader, struct loader_figures *ret_figures);

static inline void cleanup_loader_at(struct loader **loader) {
    loader_done(*loader);
}
#define cleanup_loader __attribute__((cleanup(cleanup_loader_at)))

#endif
