/* Order of an epoch that is made anew for each.
 *
 * It is for lanes (order/lanes.h), for which the shards are laid out anew. It is also for groups
 * that are chosen anew each time (sampler_groups.choose): pictures are scaled to other sizes in
 * each epoch, and so fit other canvases.
 *
 * Each sample has its own group, whatever an epoch chooses for it: that group determines the
 * permutation, the number of steps and the dropped samples, as in sampler.h. The samples of a
 * group's steps, in their order, are then gathered by chosen group. When those of one choice fill a
 * global batch, it takes the group's next step. The leftovers share the group's last steps, as
 * samples of their own group, in which each of them fits.
 *
 * All epochs thus have the same number of steps, the choice does not affect which samples are
 * dropped, and without choices the order is that of sampler.h.
 *
 * The order is a function of seed, epoch and size of the global batch, and so the same on all
 * ranks, for any number of them, and after a resume. It is made as a whole: 118,000 samples take a
 * tenth of a second and four bytes each (bench/sampler_epoch.c). Without a choice nothing is made
 * or stored. */
#ifndef TRAINER_DATA_ORDER_SAMPLER_EPOCH_H
#define TRAINER_DATA_ORDER_SAMPLER_EPOCH_H

#include "common/error.h"
#include "trainer/data/order/sampler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler_epoch {
    struct sampler sampler; /* everything that `groups` borrows must outlive this */
    int64_t steps;          /* of an epoch */
    bool is_made;
    uint32_t epoch; /* epoch that has its order made */

    uint32_t *samples; /* owned; of all ranks, step by step; NULL without choices */
    uint8_t *groups;   /* owned; group of each step */
    uint8_t *own;      /* owned; the own group of each step's samples */
    uint32_t *bins;    /* owned; a global batch for each choice */

    struct lanes_line line; /* owned; with lanes */
};

/* SAMPLER must be checked (sampler_check). */
int sampler_epoch_init(struct sampler_epoch *ret, const struct sampler *sampler, struct error *err);
void sampler_epoch_done(struct sampler_epoch *e);

/* Returns true if the order of EPOCH is available; if not, sampler_epoch_make makes it and
 * replaces the previous one. */
bool sampler_epoch_has(const struct sampler_epoch *e, uint32_t epoch);
void sampler_epoch_make(struct sampler_epoch *e, uint32_t epoch);

/* As sampler_group and sampler_at, for an epoch with an available order. */
int sampler_epoch_group(const struct sampler_epoch *e, uint32_t epoch, int64_t step);
int64_t sampler_epoch_at(const struct sampler_epoch *e, uint32_t epoch, int64_t step, int micro,
                         int i);

/* With lanes: reports what this rank is to read ahead when step STEP of the epoch begins. FROM is
 * the epoch's first step that it takes. */
void sampler_epoch_ahead(const struct sampler_epoch *e, int64_t step, int64_t from,
                         void (*piece)(void *context, struct lanes_piece piece), void *context);

#define cleanup_sampler_epoch __attribute__((cleanup(sampler_epoch_done)))

#endif
