/* What batches are made of: numbered samples, and how one becomes its place in the fields of a
 * batch. A table of functions; NULL where nothing is to be done. Of one batch different places are
 * filled by different threads at once. What a place holds depends on its sample and its epoch
 * alone. */
#ifndef TRAINER_DATA_DATASET_SOURCE_H
#define TRAINER_DATA_DATASET_SOURCE_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"

#include <stdbool.h>
#include <stddef.h>

struct source {
    const struct source_table *table;
    const void *set;  /* borrowed: what TABLE's functions know it as */
    const char *name; /* borrowed: where its samples lie, for people */
    size_t count;     /* samples */
    int batch;        /* places */
    struct batch_layout layout;
};

struct source_dropped {
    int64_t objects;
    int64_t masks; /* of objects that did */
};

struct source_table {
    /* What a thread keeps between samples, and what a slot of the loader keeps beside its batch. */
    int (*worker_open)(const struct source *source, void **ret_worker, struct error *err);
    void (*worker_close)(void *worker);
    int (*batch_open)(const struct source *source, struct batch *batch, struct error *err);
    void (*batch_close)(struct batch *batch);

    /* Place PLACE becomes the sample that it is to hold. *RET_DAMAGE: it was damaged and read as
     * far as it goes, in words. Errors name the sample; source_is_at_fault. */
    int (*fill)(const struct source *source, void *worker, const struct batch *batch, int place,
                const char **ret_damage, struct error *err);
    /* Place PLACE counts for nothing: it is padding, or its sample cannot be used. */
    void (*clear)(const struct source *source, const struct batch *batch, int place);
    /* All places are filled. */
    int (*finish)(const struct source *source, const struct batch *batch, struct error *err);

    /* What of the batch's pictures found no room in it; NULL: all always does. */
    struct source_dropped (*dropped)(const struct batch *batch);

    const char *inspect; /* the kind of data set that `ringtrain inspect` looks through */

    /* The sample's name, cut when too long. For messages. */
    void (*sample_name)(const struct source *source, size_t sample, char *text, size_t size);
};

/* Whether ERR is the sample's fault, and not that of a machine that lacks descriptors or memory for
 * a while. */
bool source_is_at_fault(const struct error *err);

/* TEXT without "NAME: " in front, where it begins with a sample's NAME. */
const char *source_without_name(const char *name, const char *text);

#endif
