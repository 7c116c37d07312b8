/* Streams of a compiled graph: operators that a device may run concurrently. Each stream runs its
 * operators in the order of the graph; only waits order the streams. Weight gradients go to the
 * side stream, since nothing in a step reads them: the chain of data gradients then does not wait
 * for them.
 *
 * The fork and join points are part of the compiled program: `wait` is the operator of the other
 * stream that must have run before an operator starts, `event` the event recorded for that. Code
 * that runs the program must obey both, start the side stream after all earlier work in the main
 * stream, and join the side stream at the end. The memory plan and its proof (plan.h) depend on
 * nothing else.
 *
 * A zeroed struct is a single stream. */
#ifndef TRAINER_GRAPH_PROGRAM_STREAMS_H
#define TRAINER_GRAPH_PROGRAM_STREAMS_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum {
    STREAMS = 2, /* STREAM_MAIN and STREAM_SIDE */
    /* At most this many operators of the side stream may be pending: the main stream waits for the
     * one before them. That limits the memory kept alive for them: for ResNet-50 at batch 256 in
     * f16 the arena is 0.3 % larger than with one stream; without the limit 8 % (FUSION_NORM) and
     * 25 % (FUSION_CONV). */
    STREAMS_LAG = 4,
    /* Events of a program: one of the main stream, and those of the side stream that may be waited
     * for. */
    STREAMS_EVENTS = 1 + STREAMS_LAG + 1
};

struct streams {
    int op_count;
    int side_count;        /* operators of the side stream */
    unsigned char *stream; /* per operator: enum backend_stream; NULL: one stream */
    int *wait;  /* per operator: the last operator of the other stream that must have run,
                 * or -1 */
    int *event; /* per operator: the event recorded after it, or -1 */
    int *known; /* per operator: the last operator of the other stream that has surely run
                 * when it starts, by this wait and earlier ones; -1: none */
};

void streams_done(struct streams *streams);
/* Distributes GRAPH, scheduled, over COUNT streams (1 or 2). */
int streams_make(struct streams *streams, const struct graph *graph, int count, struct error *err);
/* Fills `event` and `known` from `stream` and `wait`; part of streams_make. */
void streams_settle(struct streams *streams);

static inline int streams_of(const struct streams *streams, int op) {
    return streams->stream == NULL ? STREAM_MAIN : streams->stream[op];
}

/* Returns true if operator A has surely finished when B starts. */
bool streams_before(const struct streams *streams, int a, int b);

#endif
