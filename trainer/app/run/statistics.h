/* Running statistics of batch norm. Within an epoch each rank has its own; at its end they become
 * their mean over ranks. A checkpoint within an epoch holds the mean under the usual names, for
 * whoever reads the file, and every rank's own as rank_statistics.NAME [ranks][...], so that the
 * same number of ranks goes on from there to the bit. */
#ifndef TRAINER_APP_RUN_STATISTICS_H
#define TRAINER_APP_RUN_STATISTICS_H

#include "common/error.h"
#include "trainer/app/run/job.h"
#include "trainer/app/run/weights.h"
#include "trainer/checkpoint/safetensors.h"

/* All ranks together: those in the store become their mean, where they are not yet. */
int statistics_average(struct job *job, struct error *err);

/* What a checkpoint holds of them. */
struct statistics {
    float *ranks;         /* owned; slot after slot, of each all ranks */
    float *mean;          /* owned; as the store's arena */
    struct array *arrays; /* owned; rank_statistics.NAME */
    char *names;          /* owned */
    size_t count;
};

void statistics_done(struct statistics *s);
/* All ranks together; on other ranks than the first S stays empty. */
int statistics_gather(struct statistics *s, struct job *job, struct error *err);
/* Lets the arrays of W show the mean in place of this rank's own. */
void statistics_show_mean(const struct statistics *s, const struct job *job, struct weights *w);

/* On rank 0: reads every rank's own from FILE; S stays empty where it has none for as many ranks.
 */
int statistics_read(struct statistics *s, struct job *job, const struct safetensors *file,
                    struct error *err);
/* All ranks together: each takes its own from what rank 0 has read, if that is anything. */
int statistics_scatter(struct statistics *s, struct job *job, struct error *err);

#define cleanup_statistics __attribute__((cleanup(statistics_done)))

#endif
