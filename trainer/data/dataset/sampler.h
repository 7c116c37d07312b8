/* Which sample stands where: the order of an epoch and its division among ranks. Pure functions,
 * so any rank and thread can ask about any place.
 *
 * Training: the samples of an epoch are permuted, keyed by (seed, epoch), and cut into global
 * batches of ranks x accumulate x batch consecutive places; the incomplete one at the end is
 * dropped. Rank r takes places r x accumulate x batch onwards of each, as `accumulate`
 * micro-batches of `batch`. So the global batches depend on their size alone, and one rank with
 * accumulate = N sees as its micro-batches, in order, what N ranks see as their batches.
 *
 * Evaluation: no permutation, every sample once over all ranks, in global batches too; places
 * beyond the end are padding, which carries weight 0.
 *
 * Samples may come in groups that never share a batch (pictures of one canvas): each group is
 * permuted and cut into whole global batches as above, and the batches of all groups are permuted
 * once more. What a group has beyond its whole batches is dropped, other samples in each epoch. In
 * evaluation group follows group, and each has its own padding. Samples that suit another group in
 * every epoch are sampler_epoch.h's.
 *
 * The permutation is a Feistel network over the next power of four with cycle walking (Black and
 * Rogaway, Ciphers with Arbitrary Finite Domains, 2002): no memory, any place in constant time. */
#ifndef TRAINER_DATA_DATASET_SAMPLER_H
#define TRAINER_DATA_DATASET_SAMPLER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLER_GROUPS_MAX = 8 };

/* Zeroed: none, all samples belong together. */
struct sampler_groups {
    const uint32_t *samples; /* those of group 0, then those of group 1...; borrowed */
    size_t sizes[SAMPLER_GROUPS_MAX];
    int count;

    /* Training: the group that SAMPLE suits best in EPOCH, in which it can be as well as in its
     * own, a function of both alone; below 0: its own. NULL: that is always so. Heard by
     * sampler_epoch.h alone. From any thread. */
    int (*choose)(const void *user, uint32_t epoch, uint32_t sample);
    const void *user; /* borrowed */
};

struct sampler {
    size_t count;   /* samples of the set */
    int ranks;      /* at least 1 */
    int rank;       /* 0 .. ranks-1 */
    int batch;      /* samples of one micro-batch of one rank */
    int accumulate; /* micro-batches a step; 1 for evaluation */
    uint64_t seed;
    bool shuffle;                 /* true for training */
    struct sampler_groups groups; /* their sizes add up to `count` */
};

/* What is wrong with it, or that the set is smaller than one global batch of training. */
int sampler_check(const struct sampler *sampler, struct error *err);

/* Steps (global batches) of an epoch: whole ones when shuffling, all of them otherwise. */
int64_t sampler_steps(const struct sampler *sampler);

enum { SAMPLER_PADDING = -1 };

/* The sample at place I (0 .. batch-1) of this rank's micro-batch MICRO (0 .. accumulate-1) of step
 * STEP (0 .. steps-1) of EPOCH; SAMPLER_PADDING behind the end of an evaluation. */
int64_t sampler_at(const struct sampler *sampler, uint32_t epoch, int64_t step, int micro, int i);

/* The group that step STEP's samples are of, on all ranks; 0 without groups. */
int sampler_group(const struct sampler *sampler, uint32_t epoch, int64_t step);

/* Place PLACE of the permutation of 0 .. count-1 for (seed, epoch). */
size_t sampler_permute(uint64_t seed, uint32_t epoch, size_t count, size_t place);

#endif
