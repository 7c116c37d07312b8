/* One operator with those of its gradient, run by a backend.
 *
 * The inputs are the caller's. */
#ifndef TESTS_GOLDEN_STAGE_H
#define TESTS_GOLDEN_STAGE_H

#include "tests/ops/harness.h"
#include "tests/support/unit.h"

struct stage {
    struct op_case row;
    struct op_graph g;
};

/* The first LOSSES values of output 0 are losses; 0: gradients arrive there, as stage_arriving().
 * Done with op_graph_done. */
static inline void stage_open(struct stage *stage, enum op_kind kind, const struct op_attr *attr,
                              int losses,
                              void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    *stage = (struct stage){.row = {.name = "golden", .kind = kind, .make = make}};
    stage->row.x = shape_1(1);
    stage->row.attr = *attr;
    stage->row.losses = losses;
    op_graph_init(&stage->g, &stage->row, DTYPE_F32);
}

/* What arrives at output 0: to be filled before the run. */
static inline float *stage_arriving(struct stage *stage) {
    return stage->g.value[stage->g.seeds[0]];
}

static inline void stage_run(struct stage *stage, struct backend *backend) {
    struct error err = {0};
    for (int op = 0; op < stage->g.graph.op_count; op++)
        CU_ASSERT_EQUAL_FATAL(op_graph_run(&stage->g, backend, op, false, stage->g.value, &err), 0);
}

/* What operator OP of the stage made: 0 is the forward one. */
static inline const void *stage_made(const struct stage *stage, int op, int slot) {
    return stage->g.value[stage->g.graph.ops[op].outputs[slot]];
}

#endif
