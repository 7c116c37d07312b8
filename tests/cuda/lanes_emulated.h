/* A device's lanes on the host. Work is kept when it is enqueued and runs when somebody waits, in
 * an order that the marks allow and the test chooses: so late, so early or so mixed as a device
 * might. What a stream capture refuses (a lane that is not joined, a mark from outside) is refused,
 * too.
 */
#ifndef TESTS_CUDA_LANES_EMULATED_H
#define TESTS_CUDA_LANES_EMULATED_H

#include "trainer/graph/backend.h"

#include <stdint.h>

enum lanes_order {
    LANES_MAIN_FIRST, /* the side lane runs only what the main one waits for */
    LANES_SIDE_FIRST, /* and the other way round */
    LANES_MIXED       /* at random */
};

/* One piece of work. */
struct lanes_call {
    int (*run)(struct backend *backend, const struct lanes_call *call, struct error *err);
    struct bound_step step;
    void *to;
    const void *from;
    size_t size;
    struct backend_sgd sgd;
    struct backend_sum sum;
};

struct emulated_lanes;

/* BACKEND is handed to calls. */
int emulated_lanes_open(struct emulated_lanes **ret, struct backend *backend,
                        enum lanes_order order, uint64_t seed, struct error *err);
/* What has not run never will. NULL is fine. */
void emulated_lanes_close(struct emulated_lanes *l);

int emulated_lanes_add(struct emulated_lanes *l, const struct lanes_call *call, struct error *err);
void emulated_lanes_select(struct emulated_lanes *l, enum backend_lane lane);
int emulated_lanes_mark(struct emulated_lanes *l, int number, struct error *err);
int emulated_lanes_wait(struct emulated_lanes *l, int number, struct error *err);
/* Runs what has to run for the mark, or for the main lane to be empty. */
int emulated_lanes_reach(struct emulated_lanes *l, int number, struct error *err);
int emulated_lanes_sync(struct emulated_lanes *l, struct error *err);

int emulated_lanes_record_begin(struct emulated_lanes *l, struct error *err);
int emulated_lanes_record_end(struct emulated_lanes *l, void **ret_recording, struct error *err);
int emulated_lanes_replay(struct emulated_lanes *l, void *recording, struct error *err);
void emulated_lanes_forget(void *recording);

#endif
