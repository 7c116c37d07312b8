/* Number of threads of a rank: from the flags, else from the cores available. */
#ifndef TRAINER_APP_DEVICE_THREADS_H
#define TRAINER_APP_DEVICE_THREADS_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"

struct threads {
    int compute;
    int data;
};

/* Collective. Also sets OpenMP's number. */
int threads_settle(struct threads *ret, const struct options *o, struct comm *comm,
                   struct error *err);

#endif
