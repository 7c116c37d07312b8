/* All-reduce of host values over NCCL, one at a time. It serves a check of the connections between
 * GPUs. */
#ifndef TRAINER_COMM_NCCL_NCCL_TRIAL_H
#define TRAINER_COMM_NCCL_NCCL_TRIAL_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stddef.h>

enum { NCCL_TRIAL_SECONDS = 10 }; /* for one all-reduce */

struct nccl_trial;

/* Collective among COMM, with the GPU of number GPU and memory for BYTES on it. */
int nccl_trial_open(struct nccl_trial **ret, struct comm *comm, int gpu, size_t bytes,
                    struct error *err);
/* Collective. NULL is fine. Returns -1 as device_sum_close does. */
int nccl_trial_close(struct nccl_trial *t);

/* Collective: sums COUNT values in place. *RET_SECONDS is the time from enqueuing the sum to its
 * end, without copies. */
int nccl_trial_sum(struct nccl_trial *t, float *values, size_t count, double *ret_seconds,
                   struct error *err);

#endif
