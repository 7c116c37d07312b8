/* Memory plan of a program: one arena for everything that lives within a step (activations, their
 * gradients, scratch, and data that a backend saves from a forward operator for its gradient).
 *
 * Blocks with disjoint lifetimes share addresses; an output reuses the memory of an input that is
 * last used there, if operator and backend allow it. If operators run on several streams
 * (program/streams.h) a block lives as long as any order allowed by the waits may need it: two
 * blocks share addresses only if everything that touches one has surely run before anything that
 * touches the other starts.
 *
 * Greedy by size: the largest blocks are placed first, each in the tightest gap among those
 * already placed that live at the same time (Pisarchyk and Lee, "Efficient Memory Management for
 * Deep Neural Net Inference", 2020, section 5.2). */
#ifndef TRAINER_GRAPH_PROGRAM_PLAN_H
#define TRAINER_GRAPH_PROGRAM_PLAN_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/program/streams.h"

enum { PLAN_ALIGNMENT = 64 };

static inline size_t plan_aligned(size_t bytes) {
    return (bytes + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

enum plan_block_kind { PLAN_TENSOR, PLAN_SCRATCH, PLAN_SAVED };

struct plan_block {
    enum plan_block_kind kind;
    int owner;       /* tensor (the first of those that share it in place) or operator */
    int first, last; /* first and last operator that touches it, in the graph's order */
    int begin[STREAMS], end[STREAMS]; /* the same for each stream; -1 if none does */
    size_t bytes;                     /* rounded up to PLAN_ALIGNMENT */
    size_t offset;                    /* in the arena */
};

struct plan {
    struct plan_block *blocks;
    int block_count;
    int *tensor_block;  /* per tensor: its block, or -1 if it is elsewhere */
    int *scratch_block; /* per operator, or -1 */
    int *saved_block;   /* per forward operator, or -1 */
    int tensor_count, op_count;
    size_t arena_bytes;
    size_t live_peak; /* most bytes alive at one operator if they run one after another: a lower
                       * bound of every plan */
    int peak_op;
};

void plan_done(struct plan *plan);
/* NEEDS: one per operator, as filled by the backend's query. */
int plan_make(struct plan *plan, const struct graph *graph, const struct backend_needs *needs,
              const struct streams *streams, struct error *err);
/* Proves the plan from the graph and the waits alone, without the lifetimes that the planner used:
 * in every order that STREAMS allow, each operator finds its inputs intact. Debug builds call it on
 * every plan, the tests always. */
int plan_check(const struct plan *plan, const struct graph *graph, const struct streams *streams,
               struct error *err);
/* Appends a table: each block with offset, bytes, lifetime and owner, largest first; then the
 * sums. */
int plan_print(const struct plan *plan, const struct graph *graph, struct buf *out,
               struct error *err);

#endif
