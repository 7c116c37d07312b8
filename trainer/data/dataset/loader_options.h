/* Options of a data loader (loader.h): what it reads, in which order, and how far ahead.
 *
 * The loader copies them; all pointers in them are borrowed, and must be valid as long as it is. */
#ifndef TRAINER_DATA_DATASET_LOADER_OPTIONS_H
#define TRAINER_DATA_DATASET_LOADER_OPTIONS_H

#include "common/error.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/dataset/source.h"
#include "trainer/data/order/sampler.h"

#include <stddef.h>
#include <stdint.h>

enum {
    LOADER_THREADS_MAX = 256,
    LOADER_DEPTH_MAX = 64, /* slots of the ring */
};

/* Allocator of the ring's batches, for a device that copies from them. ALLOC returns zeroed
 * memory, NULL on failure. Called by the thread that starts and ends the loader. */
struct loader_memory {
    void *(*alloc)(void *user, size_t bytes, struct error *err);
    void (*free)(void *user, void *memory);
    void *user;
};

struct loader_options {
    struct loader_memory memory; /* zeroed: use the heap */
    const struct source *source; /* must outlive the loader */
    struct sampler sampler;
    uint32_t epoch;  /* start here... */
    int64_t step;    /* ...0 .. steps of an epoch (the last means the next epoch) */
    uint32_t epochs; /* end before this epoch: epoch + 1 for one pass */
    int threads;     /* workers, at least 1 */
    int depth;       /* batches ready or in progress at once, at least 2 */

    struct bad_samples *faults; /* records faults of samples; borrowed, NULL: not recorded */
    int64_t bad_allowed;        /* limit of BAD_SAMPLE_BAD in `faults`, which is required if this is
                                 * not 0 */
};

#endif
