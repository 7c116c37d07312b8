/* Batch of inputs of a network: named fields, each the values of one input, in one block of memory.
 * A layout lists the fields and their sizes in bytes. Shapes and types belong to the network, which
 * takes a field by name and requires its size to match (step/network.h). */
#ifndef TRAINER_DATA_DATASET_BATCH_H
#define TRAINER_DATA_DATASET_BATCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    BATCH_FIELDS_MAX = 16,
    BATCH_ALIGNMENT = 64, /* alignment of a field in its block, bytes */
};

struct batch_field {
    const char *name; /* borrowed */
    size_t bytes;
    size_t offset; /* in the block */
};

struct batch_layout {
    struct batch_field fields[BATCH_FIELDS_MAX];
    int count;
    size_t bytes; /* size of the block */
};

/* Appends a field; returns its number, counted from 0. */
int batch_layout_add(struct batch_layout *layout, const char *name, size_t bytes);
/* Returns the number of the field NAME, or -1. */
int batch_layout_find(const struct batch_layout *layout, const char *name);

struct batch {
    uint32_t epoch;
    int64_t step;                      /* within the epoch */
    int micro;                         /* 0 .. accumulate-1 */
    int canvas;                        /* canvas of the network that takes it: its samples' group
                                        * (sampler.h) */
    int count;                         /* samples without the padding; they come first */
    const struct batch_layout *layout; /* borrowed */
    void *fields[BATCH_FIELDS_MAX];    /* in the layout's order */
    int64_t *samples; /* the number of each place's sample, SAMPLER_PADDING for padding */
    void *own;        /* private to the source (source.h) */
};

#endif
