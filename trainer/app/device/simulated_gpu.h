/* What a step would take of a device that --device describes, where this build can tell. */
#ifndef TRAINER_APP_DEVICE_SIMULATED_GPU_H
#define TRAINER_APP_DEVICE_SIMULATED_GPU_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/graph/backend.h"

/* Since the backend was opened. */
struct device_launches {
    unsigned long kernels;  /* of our own */
    unsigned long early;    /* those of them that may begin while others end */
    unsigned long products; /* calls of libraries, each of which may be several kernels */
    unsigned long copies;   /* and fills of memory */
};

/* O has a --device: backend and, where it is `auto`, fusion level become what they would be there.
 */
int device_simulate_settle(struct options *o, struct error *err);
/* Opens it; a build without such devices is EXIT_CODE_DEVICE. */
int device_simulate_open(struct backend **ret, const struct options *o, struct error *err);
/* BACKEND is one that device_simulate_open has opened. */
struct device_launches device_launches(const struct backend *backend);

#endif
