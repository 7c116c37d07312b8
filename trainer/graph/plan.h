/* The memory plan: one arena for everything that lives within a step (activations, their
 * gradients, scratch, what a backend saves from a forward operator for its gradient). Blocks whose
 * lifetimes do not meet share addresses; an output takes the place of an input that dies, where
 * operator and backend allow it. Lifetimes are closed intervals of operator numbers.
 *
 * Greedy by size: the largest blocks are placed first, each in the tightest gap among those already
 * placed that live at the same time (Pisarchyk and Lee, "Efficient Memory Management for Deep
 * Neural Net Inference", 2020, section 5.2). */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "backend/backend.h"
#include "common/buf.h"
#include "common/error.h"
#include "graph/graph.h"

enum { PLAN_ALIGNMENT = 64 };

enum plan_block_kind { PLAN_TENSOR, PLAN_SCRATCH, PLAN_SAVED };

struct plan_block {
    enum plan_block_kind kind;
    int owner;       /* tensor (the first of those that share it in place) or operator */
    int first, last; /* operators between which it lives */
    size_t bytes;    /* rounded up to PLAN_ALIGNMENT */
    size_t offset;   /* in the arena */
};

struct plan {
    struct plan_block *blocks;
    int block_count;
    int *tensor_block;  /* per tensor: its block, or -1 if it lies elsewhere */
    int *scratch_block; /* per operator, or -1 */
    int *saved_block;   /* per forward operator, or -1 */
    int tensor_count, op_count;
    size_t arena_bytes;
    size_t live_peak; /* most bytes alive at one operator: no plan can be smaller */
    int peak_op;
};

void plan_done(struct plan *plan);
/* NEEDS: one per operator, as the backend's query filled them. */
int plan_make(struct plan *plan, const struct graph *graph, const struct backend_needs *needs,
              struct error *err);
/* Fails if two blocks that live at the same time overlap, or one passes the arena's end. Debug
 * builds call it on every plan, the tests always. */
int plan_check(const struct plan *plan, struct error *err);
/* A table for people: each block with offset, bytes, lifetime and owner, largest first; then the
 * sums. */
int plan_print(const struct plan *plan, const struct graph *graph, struct buf *out,
               struct error *err);

#endif
