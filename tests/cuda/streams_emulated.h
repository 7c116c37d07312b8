/* A device's streams on the host. Work is kept when it is enqueued and runs when somebody waits, in
 * an order that the events allow and the test chooses: so late, so early or so mixed as a device
 * might. What a stream capture refuses (a stream that is not joined, an event from outside) is
 * refused, too.
 */
#ifndef TESTS_CUDA_STREAMS_EMULATED_H
#define TESTS_CUDA_STREAMS_EMULATED_H

#include "trainer/graph/backend.h"

#include <stdint.h>

enum streams_order {
    STREAMS_MAIN_FIRST, /* the side stream runs only what the main one waits for */
    STREAMS_SIDE_FIRST, /* and the other way round */
    STREAMS_MIXED       /* at random */
};

/* One piece of work. */
struct streams_call {
    int (*run)(struct backend *backend, const struct streams_call *call, struct error *err);
    struct bound_step step;
    void *to;
    const void *from;
    size_t size;
    struct backend_update update;
    struct backend_sum sum;
};

struct emulated_streams;

/* BACKEND is handed to calls. */
int emulated_streams_open(struct emulated_streams **ret, struct backend *backend,
                          enum streams_order order, uint64_t seed, struct error *err);
/* What has not run never will. NULL is fine. */
void emulated_streams_close(struct emulated_streams *l);

int emulated_streams_add(struct emulated_streams *l, const struct streams_call *call,
                         struct error *err);
void emulated_streams_select(struct emulated_streams *l, enum backend_stream stream);
int emulated_streams_event(struct emulated_streams *l, int number, struct error *err);
int emulated_streams_wait(struct emulated_streams *l, int number, struct error *err);
/* Runs what has to run for the event, or for the main stream to be empty. */
int emulated_streams_reach(struct emulated_streams *l, int number, struct error *err);
int emulated_streams_sync(struct emulated_streams *l, struct error *err);

int emulated_streams_capture_begin(struct emulated_streams *l, struct error *err);
int emulated_streams_capture_end(struct emulated_streams *l, void **ret_recording,
                                 struct error *err);
int emulated_streams_replay(struct emulated_streams *l, void *recording, struct error *err);
void emulated_streams_forget(void *recording);

#endif
