/* Simulated GPU of --device: counts what a step would launch there, without having one. */
#ifndef TRAINER_APP_PLAN_SIMULATED_GPU_H
#define TRAINER_APP_PLAN_SIMULATED_GPU_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/graph/backend.h"

/* Counts since the backend was opened. */
struct device_launches {
    unsigned long kernels;  /* of our own */
    unsigned long early;    /* those that may begin before preceding ones end */
    unsigned long products; /* calls of libraries, each possibly several kernels */
    unsigned long copies;   /* copies and fills of memory */
};

/* For O with a --device: sets the backend, and the fusion level if it is `auto`, as they would be
 * on that GPU. */
int device_simulate_settle(struct options *o, struct error *err);
/* Opens the simulated GPU. EXIT_CODE_DEVICE in a build without simulation. */
int device_simulate_open(struct backend **ret, const struct options *o, struct error *err);
/* BACKEND must be one of device_simulate_open. */
struct device_launches device_launches(const struct backend *backend);

#endif
