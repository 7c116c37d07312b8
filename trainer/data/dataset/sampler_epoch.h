/* The order of an epoch whose groups are chosen anew (sampler_groups.choose): pictures that are
 * scaled to other sizes in each epoch, and so fit other canvases.
 *
 * Every sample has its own group, whatever an epoch chooses for it: by that one samples are
 * permuted, steps counted, and the rest dropped, as sampler.h says. The samples of a group's
 * steps, in their order, then gather by what is chosen for them. Where those of one choice fill a
 * global batch it takes the group's next step; those that fill none share the group's last steps,
 * as samples of their own group, in which each of them has a place. So every epoch has the same
 * number of steps, whom it drops hangs on no choice, and where nothing is chosen the order is
 * sampler.h's.
 *
 * It is a function of seed, epoch and size of the global batch, and so the same on all ranks, on
 * any number of them, and after a resume. Made as a whole: 118,000 samples take a tenth of a
 * second and four bytes each (bench/sampler_epoch.c). Without a choice nothing is made or kept. */
#ifndef TRAINER_DATA_DATASET_SAMPLER_EPOCH_H
#define TRAINER_DATA_DATASET_SAMPLER_EPOCH_H

#include "common/error.h"
#include "trainer/data/dataset/sampler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler_epoch {
    struct sampler sampler; /* what `groups` borrows must outlive this */
    int64_t steps;          /* of an epoch */
    bool is_made;
    uint32_t epoch; /* that is made */

    uint32_t *samples; /* owned; of all ranks, step by step; NULL where nothing is chosen */
    uint8_t *groups;   /* owned; of steps */
    uint8_t *own;      /* owned; the groups that the samples of steps have */
    uint32_t *bins;    /* owned; a global batch of each choice */
};

/* For a sampler that is checked (sampler_check). */
int sampler_epoch_init(struct sampler_epoch *ret, const struct sampler *sampler, struct error *err);
void sampler_epoch_done(struct sampler_epoch *e);

/* Whether the order of EPOCH is at hand; if not, sampler_epoch_make makes it, in place of the one
 * before. */
bool sampler_epoch_has(const struct sampler_epoch *e, uint32_t epoch);
void sampler_epoch_make(struct sampler_epoch *e, uint32_t epoch);

/* As sampler_group and sampler_at, of an epoch that is at hand. */
int sampler_epoch_group(const struct sampler_epoch *e, uint32_t epoch, int64_t step);
int64_t sampler_epoch_at(const struct sampler_epoch *e, uint32_t epoch, int64_t step, int micro,
                         int i);

#define cleanup_sampler_epoch __attribute__((cleanup(sampler_epoch_done)))

#endif
