/* Slot of a loader's ring, private to it: one batch, from its memory to its filled places.
 *
 * Nothing here takes the loader's lock: loader.c calls each function at a time when no other thread
 * uses what it touches. */
#ifndef TRAINER_DATA_DATASET_LOADER_SLOT_H
#define TRAINER_DATA_DATASET_LOADER_SLOT_H

#include "common/error.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/loader_options.h"
#include "trainer/data/order/lanes.h"
#include "trainer/data/order/sampler_epoch.h"

#include <stddef.h>
#include <stdint.h>

struct loader_pieces {
    struct lanes_piece *items; /* owned */
    size_t count;
    size_t room;
};

struct loader_slot {
    struct batch batch;
    char *block;                /* memory of its fields */
    int missing;                /* samples not done yet */
    struct loader_pieces ahead; /* to be read ahead by the worker of the first sample */
    int failed;                 /* place of the first sample that failed, INT_MAX for none */
    struct error *error;        /* error of that sample; allocated with the slot */
};

/* Allocates the slot's batch and opens it. On failure the slot needs loader_slot_done, too. */
int loader_slot_make(struct loader_slot *slot, const struct loader_options *options,
                     struct error *err);
void loader_slot_done(struct loader_slot *slot, const struct loader_options *options);

/* Returns the epoch of batch NUMBER, counted from the loader's start; STEPS are those of an epoch.
 */
uint32_t loader_slot_epoch(const struct loader_options *options, int64_t steps, int64_t number);

/* Sets the samples of batch NUMBER; ORDER must have its epoch. */
void loader_slot_begin(struct loader_slot *slot, const struct loader_options *options,
                       const struct sampler_epoch *order, int64_t steps, int64_t number);

/* Fills place PLACE; OWN is the worker's state. Each place has one worker, and the slot's batch is
 * only read once it has begun. The worker of the first place reads ahead for all. */
int loader_slot_fill(const struct loader_slot *slot, const struct loader_options *options,
                     void *own, int place, struct error *err);
void loader_slot_read_ahead(const struct loader_slot *slot, const struct loader_options *options,
                            int place);

/* Keeps ERR, if no earlier place has failed. */
void loader_slot_fail(struct loader_slot *slot, int place, const struct error *err);

#endif
