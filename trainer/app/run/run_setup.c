#include "trainer/app/run/run_setup.h"

#include "trainer/data/dataset/loader.h"

/* At least this many batches in the ring, read ahead of the running step. */
enum { RING_LEAST = 4 };

double run_setup_epoch(const struct run_setup *setup, const struct run_state *state) {
    if (setup->steps_per_epoch == 0) /* the run ended before its data was opened */
        return 0;
    double steps = (double)(state->images / state->global_batch);
    return (double)state->epoch + steps / (double)setup->steps_per_epoch;
}

int run_setup_ring_depth(const struct options *o) {
    int64_t ahead = 2 * o->accumulate;
    if (ahead < RING_LEAST)
        return RING_LEAST;
    return ahead > LOADER_DEPTH_MAX ? LOADER_DEPTH_MAX : (int)ahead;
}
