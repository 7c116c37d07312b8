/* Running statistics of batch norm across ranks.
 *
 * Within an epoch each rank has its own; at its end all ranks take the mean. A checkpoint within
 * an epoch holds the mean under the usual names, for other readers of the file, and those of each
 * rank as rank_statistics.NAME [ranks][...], so that the same number of ranks resumes bit for
 * bit. */
#ifndef TRAINER_APP_RUN_BN_STATISTICS_H
#define TRAINER_APP_RUN_BN_STATISTICS_H

#include "common/error.h"
#include "trainer/app/run/run_steps.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/safetensors.h"

/* Collective. Replaces the statistics in the store by their mean over ranks, unless that was done
 * already. */
int bn_statistics_average(struct run_steps *steps, struct comm *comm, struct error *err);

/* Statistics as a checkpoint holds them. */
struct bn_statistics {
    float *ranks;         /* owned; slot after slot, and within a slot rank after rank */
    float *mean;          /* owned; laid out as the store's arena */
    struct array *arrays; /* owned; named rank_statistics.NAME */
    char *names;          /* owned */
    size_t count;
};

void bn_statistics_done(struct bn_statistics *s);
/* Collective. Fills S on rank 0; on other ranks it stays empty. */
int bn_statistics_gather(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                         struct error *err);
/* Makes the arrays of W point to the mean instead of this rank's statistics. */
void bn_statistics_show_mean(const struct bn_statistics *s, const struct run_steps *steps,
                             struct weights *w);

/* Call on rank 0. Reads the statistics of each rank from FILE; S stays empty if FILE has none or
 * was written by another number of ranks. */
int bn_statistics_read(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                       const struct safetensors *file, struct error *err);
/* Collective. Gives each rank its own statistics from what rank 0 has read, if anything. */
int bn_statistics_scatter(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                          struct error *err);

#define cleanup_bn_statistics __attribute__((cleanup(bn_statistics_done)))

#endif
