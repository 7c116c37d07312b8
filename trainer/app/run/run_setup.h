/* Setup of a training run: options, data, ranks and device, from its opening to its end.
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
#include "trainer/data/dataset/loader.h"
#include "trainer/data/order/sampler.h"
#include "trainer/optim/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct run_setup {
    const struct options *options; /* borrowed */
    struct inputs inputs;
    struct comm *comm;  /* borrowed; the ranks that train */
    struct comm *all;   /* borrowed; and parameter servers, if there are some */
    struct comm *apart; /* owned; this rank alone, where ranks have nothing in common between two
                         * checkpoints; else NULL */
    bool first;         /* this is rank 0 */
    struct threads threads;
    struct backend *backend; /* owned */
    struct task_request request;
    struct task_data data; /* after training_run_give_up, threads may still record faults in it */
    struct sampler sampler;
    struct schedule schedule;
    int64_t steps_per_epoch;
};

/* Epochs done where the run stands at STATE, with a fraction; 0 if the run ended before its data
 * was opened. */
static inline double run_setup_epoch(const struct run_setup *setup, const struct run_state *state) {
    if (setup->steps_per_epoch == 0)
        return 0;
    double steps = (double)(state->images / state->global_batch);
    return (double)state->epoch + steps / (double)setup->steps_per_epoch;
}

enum { RUN_SETUP_RING_LEAST = 4 };

/* Batches of the training set that are ready or in work at once, read ahead of the running step. */
static inline int run_setup_ring_depth(const struct options *o) {
    int64_t ahead = 2 * o->accumulate;
    if (ahead < RUN_SETUP_RING_LEAST)
        return RUN_SETUP_RING_LEAST;
    return ahead > LOADER_DEPTH_MAX ? LOADER_DEPTH_MAX : (int)ahead;
}

/* Logs the settings of the run before the slow work begins: compiling the network, tuning, the
 * first step. Does nothing on ranks other than the first. */
int run_setup_announce(const struct run_setup *setup, int64_t global_batch, struct error *err);

#endif
