/* What a training run works with from its opening to its end: options, data, ranks and device.
 *
 * It is filled by training_run_open and stays as it is, but for the counts of bad samples in its
 * data. */
#ifndef TRAINER_APP_RUN_RUN_SETUP_H
#define TRAINER_APP_RUN_RUN_SETUP_H

#include "trainer/app/device/threads.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"
#include "trainer/data/order/sampler.h"
#include "trainer/optim/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct run_setup {
    const struct options *options; /* borrowed */
    struct inputs inputs;
    struct comm *comm; /* borrowed */
    bool first;        /* this is rank 0 */
    struct threads threads;
    struct backend *backend; /* owned */
    struct task_request request;
    struct task_data data; /* after training_run_give_up, threads may still record faults in it */
    struct sampler sampler;
    struct schedule schedule;
    int64_t steps_per_epoch;
};

/* Epochs done where the run stands at STATE, with a fraction. */
double run_setup_epoch(const struct run_setup *setup, const struct run_state *state);
/* Batches of the training set that are ready or in work at once. */
int run_setup_ring_depth(const struct options *o);

#endif
