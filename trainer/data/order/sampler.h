/* Sampler of a data set: the order of an epoch and its division among ranks. Pure functions, so any
 * rank and thread can compute the sample of any place.
 *
 * Training: the samples of an epoch are permuted, keyed by (seed, epoch), and cut into global
 * batches of ranks x accumulate x batch consecutive places; the incomplete one at the end is
 * dropped. Rank r takes places r x accumulate x batch onwards of each, as `accumulate`
 * micro-batches of `batch`. So the global batches depend only on their size, and one rank with
 * accumulate = N has as micro-batches, in order, the batches of N ranks.
 *
 * Evaluation: no permutation, each sample once over all ranks, also in global batches; places
 * beyond the end are padding, with weight 0.
 *
 * Samples may belong to groups that never share a batch (pictures of one canvas): each group is
 * permuted and cut into whole global batches as above, and the batches of all groups are permuted
 * once more. The samples beyond a group's whole batches are dropped, other ones in each epoch. In
 * evaluation group follows group, and each has its own padding. sampler_epoch.h handles samples
 * that change their group from epoch to epoch.
 *
 * With lanes (order/lanes.h) the samples of an epoch are in another order, cut into global batches
 * and divided among ranks as above. That is handled by sampler_epoch.h, too. */
#ifndef TRAINER_DATA_ORDER_SAMPLER_H
#define TRAINER_DATA_ORDER_SAMPLER_H

#include "common/error.h"
#include "trainer/data/order/lanes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLER_GROUPS_MAX = 8 };

/* Zeroed: no groups, all samples belong together. */
struct sampler_groups {
    const uint32_t *samples; /* samples of group 0, then of group 1...; borrowed */
    size_t sizes[SAMPLER_GROUPS_MAX];
    int count;

    /* Training: returns the group that suits SAMPLE best in EPOCH, a function of both alone; it
     * can also be in its own group. Below 0: its own. NULL: always its own. Used only by
     * sampler_epoch.h, from any thread. */
    int (*choose)(const void *user, uint32_t epoch, uint32_t sample);
    const void *user; /* borrowed */
};

/* A rank's part of a set that is divided among hosts. Zeroed: all of the set. */
struct sampler_part {
    size_t first;  /* number of the part's first sample; the part has `count` */
    int64_t steps; /* of an epoch, at most: as many as the smallest part has; 0: no limit */
};

struct sampler {
    size_t count;   /* samples of the set, or of its part */
    int ranks;      /* at least 1 */
    int rank;       /* 0 .. ranks-1 */
    int batch;      /* samples of one micro-batch of one rank */
    int accumulate; /* micro-batches a step; 1 for evaluation */
    uint64_t seed;
    bool shuffle;                 /* true for training */
    struct sampler_groups groups; /* their sizes add up to `count` */
    struct lanes lanes;           /* for training, without groups */
    struct sampler_part part;     /* for training, without groups and lanes */
};

/* Fails if the sampler is invalid, or the set is smaller than one global batch of training. */
int sampler_check(const struct sampler *sampler, struct error *err);

/* Returns the steps (global batches) of an epoch: only whole ones when shuffling, all otherwise. */
int64_t sampler_steps(const struct sampler *sampler);

enum { SAMPLER_PADDING = -1 };

/* Without lanes: returns the sample at place I (0 .. batch-1) of this rank's micro-batch MICRO (0
 * .. accumulate-1) of step STEP (0 .. steps-1) of EPOCH; SAMPLER_PADDING after the end of an
 * evaluation. */
int64_t sampler_at(const struct sampler *sampler, uint32_t epoch, int64_t step, int micro, int i);

/* Returns the group of step STEP's samples, the same on all ranks; 0 without groups. */
int sampler_group(const struct sampler *sampler, uint32_t epoch, int64_t step);

/* Returns place PLACE of the permutation of 0 .. count-1 for (seed, epoch). */
size_t sampler_permute(uint64_t seed, uint32_t epoch, size_t count, size_t place);

#endif
