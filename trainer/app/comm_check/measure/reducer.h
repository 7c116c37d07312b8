/* All-reduce of host values among a communicator's ranks on trial: by the communicator itself, or
 * by NCCL from GPU to GPU. */
#ifndef TRAINER_APP_COMM_CHECK_MEASURE_REDUCER_H
#define TRAINER_APP_COMM_CHECK_MEASURE_REDUCER_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stddef.h>

enum reducer_kind { REDUCER_MPI, REDUCER_NCCL };

struct nccl_trial;

struct reducer {
    struct comm *group;      /* borrowed */
    float *values;           /* owned; summed in place */
    struct nccl_trial *nccl; /* owned; NULL: by the communicator */
};

/* Collective among GROUP. NCCL takes the GPU of number GPU. Room is made for BYTES of values. A
 * build without NCCL refuses it with EXIT_CODE_DEVICE. */
int reducer_open(struct reducer *r, enum reducer_kind kind, struct comm *group, int gpu,
                 size_t bytes, struct error *err);
/* Collective. Safe on a zeroed reducer. Returns -1 if the GPU cannot be made to stop; the process
 * then has to end. */
int reducer_close(struct reducer *r);

/* Collective: sums COUNT values; *RET_SECONDS is the time of the all-reduce without the copies to
 * and from a GPU. */
int reducer_sum(struct reducer *r, size_t count, double *ret_seconds, struct error *err);

#endif
