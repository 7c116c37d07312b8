/* How many threads a rank runs: as the flags say, else by the cores that it has. */
#ifndef TRAINER_APP_DEVICE_THREADS_H
#define TRAINER_APP_DEVICE_THREADS_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"

struct threads {
    int compute;
    int data;
};

/* Also tells OpenMP. All ranks together. */
int threads_settle(struct threads *ret, const struct options *o, struct comm *comm,
                   struct error *err);

#endif
