/* Lanes: operators of a compiled graph that a device may run side by side. Each lane runs its
 * operators in the order of the graph; between lanes only waits order them. Weight gradients go to
 * the side lane, since nothing in a step reads them: the chain of data gradients then does not
 * wait for them.
 *
 * The fork and join points are part of the compiled program: `wait` says of an operator what of the
 * other lane has to have run before it starts, `mark` what is noted down for that. Who runs the
 * program obeys both, starts the side lane behind all that the main lane held before, and joins the
 * side lane at the end. The memory plan and its proof (plan.h) rest on nothing else.
 *
 * A zeroed struct is one lane. */
#ifndef TRAINER_GRAPH_PROGRAM_STREAMS_H
#define TRAINER_GRAPH_PROGRAM_STREAMS_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum {
    LANES = 2, /* LANE_MAIN and LANE_SIDE */
    /* So many operators of the side lane may be behind: the main lane waits for the one before
     * them. It bounds what has to stay alive for them: in ResNet-50 at batch 256 in f16 the arena
     * is 0.3 % larger than on one lane, without a bound 8 % (FUSION_NORM) and 25 % (FUSION_CONV).
     */
    STREAMS_LAG = 4,
    /* Marks of a program: one of the main lane, and those of the side lane that may be waited for.
     */
    STREAMS_MARKS = 1 + STREAMS_LAG + 1
};

struct streams {
    int op_count;
    int side_count;      /* operators of the side lane */
    unsigned char *lane; /* per operator: enum backend_lane; NULL: one lane */
    int *wait;           /* per operator: the last of the other lane that must have run, or -1 */
    int *mark;           /* per operator: the mark set when it has run, or -1 */
    int *known;          /* per operator: the last of the other lane that has surely run when it
                          * starts, by this wait and those before it; -1 for none */
};

void streams_done(struct streams *lanes);
/* Spreads GRAPH, scheduled, over COUNT lanes (1 or 2). */
int streams_make(struct streams *lanes, const struct graph *graph, int count, struct error *err);
/* Fills `mark` and `known` from `lane` and `wait`; part of streams_make. */
void streams_settle(struct streams *lanes);

static inline int streams_of(const struct streams *lanes, int op) {
    return lanes->lane == NULL ? LANE_MAIN : lanes->lane[op];
}

/* Whether operator A has surely ended when B starts. */
bool streams_before(const struct streams *lanes, int a, int b);

#endif
