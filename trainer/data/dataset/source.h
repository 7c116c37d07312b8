/* Interface of a source of batches: numbered samples, and a function that writes one to its place
 * in the fields of a batch. A table of functions; NULL where nothing is to be done. Several
 * threads fill different places of one batch at the same time. The content of a place depends only
 * on its sample and its epoch. */
#ifndef TRAINER_DATA_DATASET_SOURCE_H
#define TRAINER_DATA_DATASET_SOURCE_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/order/lanes.h"

#include <stdbool.h>
#include <stddef.h>

struct source {
    const struct source_table *table;
    const void *set;                    /* borrowed: private data of TABLE's functions */
    const char *name;                   /* borrowed: location of the samples, for people */
    size_t count;                       /* samples */
    int batch;                          /* places in a batch */
    struct batch_layout layout;         /* the largest */
    const struct batch_layout *layouts; /* borrowed: one for each canvas; NULL: `layout` for all */
};

struct source_dropped {
    int64_t objects;
    int64_t masks; /* masks of objects that did fit */
};

struct source_table {
    /* State that a thread keeps between samples, and that a slot of the loader keeps beside its
     * batch. */
    int (*worker_open)(const struct source *source, void **ret_worker, struct error *err);
    void (*worker_close)(void *worker);
    int (*batch_open)(const struct source *source, struct batch *batch, struct error *err);
    void (*batch_close)(struct batch *batch);

    /* Fills place PLACE with its sample. *RET_DAMAGE: describes damage that was decoded over.
     * Errors name the sample; bad_sample_at_fault (bad_samples.h) tells whether it is at fault. */
    int (*fill)(const struct source *source, void *worker, const struct batch *batch, int place,
                const char **ret_damage, struct error *err);
    /* Marks place PLACE as unused: it is padding, or its sample cannot be used. */
    void (*clear)(const struct source *source, const struct batch *batch, int place);
    /* Returns the canvas of all batches of EPOCH, a function of it alone; NULL: a batch's canvas is
     * its samples' group. */
    int (*canvas)(const struct source *source, uint32_t epoch);
    /* Called when all places are filled. */
    int (*finish)(const struct source *source, const struct batch *batch, struct error *err);

    /* Returns what did not fit into the batch; NULL: everything always fits. */
    struct source_dropped (*dropped)(const struct batch *batch);

    /* Has a part of the set read ahead, as a hint; from any thread. For sources with a sampler that
     * has lanes; NULL: not at all. */
    void (*ahead)(const struct source *source, const struct lanes_piece *piece);

    const char *inspect; /* the kind of data set for `ringtrain inspect` */

    /* Writes the sample's name, truncated if necessary. For messages. */
    void (*sample_name)(const struct source *source, size_t sample, char *text, size_t size);
};

#endif
