/* Running statistics of batch norm. Within an epoch each rank has its own; at its end they become
 * their mean over ranks. A checkpoint within an epoch holds the mean under the usual names, for
 * whoever reads the file, and every rank's own as rank_statistics.NAME [ranks][...], so that the
 * same number of ranks goes on from there to the bit. */
#ifndef TRAINER_APP_RUN_BN_STATISTICS_H
#define TRAINER_APP_RUN_BN_STATISTICS_H

#include "common/error.h"
#include "trainer/app/run/run_steps.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/safetensors.h"

/* All ranks together: those in the store become their mean, where they are not yet. */
int bn_statistics_average(struct run_steps *steps, struct comm *comm, struct error *err);

/* What a checkpoint holds of them. */
struct bn_statistics {
    float *ranks;         /* owned; slot after slot, of each all ranks */
    float *mean;          /* owned; as the store's arena */
    struct array *arrays; /* owned; rank_statistics.NAME */
    char *names;          /* owned */
    size_t count;
};

void bn_statistics_done(struct bn_statistics *s);
/* All ranks together; on other ranks than the first S stays empty. */
int bn_statistics_gather(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                         struct error *err);
/* Lets the arrays of W show the mean in place of this rank's own. */
void bn_statistics_show_mean(const struct bn_statistics *s, const struct run_steps *steps,
                             struct weights *w);

/* On rank 0: reads every rank's own from FILE; S stays empty where it has none for as many ranks.
 */
int bn_statistics_read(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                       const struct safetensors *file, struct error *err);
/* All ranks together: each takes its own from what rank 0 has read, if that is anything. */
int bn_statistics_scatter(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                          struct error *err);

#define cleanup_bn_statistics __attribute__((cleanup(bn_statistics_done)))

#endif
