/* Every gradient operator against finite differences of its forward operator, on the reference
 * backend in double. L = sum(dy * y) for the operators, the mean loss for the loss; the derivative
 * of L by each element of each differentiable input by central differences. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/gradient/gradients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double STEP = 1e-5, TOLERANCE = 1e-5;

/* Runs operator NUMBER and keeps its outputs as values. */
static void run(struct op_graph *g, struct backend *ref, int number) {
    struct error err = {0};
    const struct op op = g->graph.ops[number];
    void *result[CASE_TENSORS_MAX];
    void *spare[OP_INPUTS_MAX] = {0};
    for (int i = 0; i < g->graph.tensor_count; i++)
        result[i] = g->value[i];
    for (int i = 0; i < OP_INPUTS_MAX; i++) { /* what it updates must not change the next run */
        if (op.inputs[i] == TENSOR_NONE || !op_updates(op.kind, i))
            continue;
        spare[i] = malloc(tensor_bytes(&g->graph.tensors[op.inputs[i]]));
        CU_ASSERT_PTR_NOT_NULL_FATAL(spare[i]);
        result[op.inputs[i]] = spare[i];
    }
    CU_ASSERT_EQUAL_FATAL(op_graph_run(g, ref, number, false, result, &err), 0);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        free(spare[i]);
}

static double loss_of(struct op_graph *g, struct backend *ref) {
    run(g, ref, 0);
    int output = g->graph.ops[0].outputs[0];
    const double *y = g->value[output];
    if (g->row->kind == OP_SOFTMAX_CROSS_ENTROPY)
        return y[LOSS_SUM] * g->row->attr.gradient_scale;
    double sum = 0;
    for (int i = 0; i < g->row->losses; i++)
        sum += y[i];
    for (int64_t i = 0; i < tensor_count(&g->graph.tensors[output]); i++)
        for (int k = 0; k < 2; k++)
            if (g->seeds[k] != TENSOR_NONE)
                sum += y[i] * ((const double *)g->value[g->seeds[k]])[i];
    return sum;
}

static double difference_quotient(struct op_graph *g, struct backend *ref, double *value) {
    double before = *value;
    *value = before + STEP;
    double above = loss_of(g, ref);
    *value = before - STEP;
    double below = loss_of(g, ref);
    *value = before;
    return (above - below) / (2 * STEP);
}

/* Real numbers that an operator only reads have a gradient; labels, weights of samples and
 * statistics that it updates have none. */
static bool must_have_gradient(const struct op_graph *g, int slot) {
    const struct op *op = &g->graph.ops[0];
    if (op->kind == OP_BATCH_NORM_INFERENCE)
        return slot == NORM_X || slot == NORM_SIDE; /* the rest of a frozen norm is constant */
    if (op->kind == OP_CONV2D_AFFINE && slot >= AFFINE_GAMMA && slot <= AFFINE_VARIANCE)
        return false;
    return g->graph.tensors[op->inputs[slot]].dtype == DTYPE_F64 && !op_updates(op->kind, slot);
}

static void check_input(struct op_graph *g, struct backend *ref, int slot) {
    int input = g->graph.ops[0].inputs[slot];
    int gradient = gradients_of(&g->graph, input);
    if ((gradient != TENSOR_NONE) != must_have_gradient(g, slot)) {
        printf("%s: input %d: %s gradient\n", g->row->name, slot,
               gradient == TENSOR_NONE ? "no" : "a");
        CU_FAIL("a rule forgets an input, or has one too many");
    }
    if (gradient == TENSOR_NONE)
        return;
    double *values = g->value[input];
    const double *computed = g->value[gradient];
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < tensor_count(&g->graph.tensors[input]); i++) {
        double expected = difference_quotient(g, ref, &values[i]);
        worst = fmax(worst, fabs(computed[i] - expected));
        largest = fmax(largest, fabs(expected));
    }
    if (!(worst <= TOLERANCE * largest)) {
        printf("%s: input %d: error %.3g\n", g->row->name, slot, worst / largest);
        CU_FAIL("a gradient differs from finite differences");
    }
    if (!(largest > 0))
        printf("%s: input %d: nothing flows\n", g->row->name, slot);
    CU_ASSERT(largest > 0);
}

static void every_gradient_is_that_of_finite_differences(void) {
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        if (!op_case_at(i)->differentiate)
            continue;
        op_graph_init(&g, op_case_at(i), DTYPE_F64);
        for (int op = 0; op < g.graph.op_count; op++)
            run(&g, ref, op);
        for (int slot = 0; slot < OP_INPUTS_MAX; slot++)
            if (g.graph.ops[0].inputs[slot] != TENSOR_NONE)
                check_input(&g, ref, slot);
        op_graph_done(&g);
    }
    backend_close(ref);
}

static void every_differentiable_operator_is_checked(void) {
    bool seen[OP_KINDS] = {false};
    for (int i = 0; i < op_case_count(); i++)
        seen[op_case_at(i)->kind] |= op_case_at(i)->differentiate;
    seen[OP_ADD] = true; /* adds no operator: its gradient passes through unchanged */
    for (int kind = 0; kind < OP_KINDS; kind++) {
        bool differentiable = gradient_rule((enum op_kind)kind) != NULL;
        if (differentiable && !seen[kind])
            printf("%s has no row for finite differences: add a tiny one with .differentiate to "
                   "tests/ops/cases*.c\n",
                   op_name((enum op_kind)kind));
        CU_ASSERT(!differentiable || seen[kind]);
    }
}

static void a_loosened_row_says_why(void) {
    for (int i = 0; i < op_case_count(); i++) {
        const struct op_case *row = op_case_at(i);
        bool loosened = row->f32_tolerance > 0 || row->bf16_tolerance > 0 || row->f16_tolerance > 0;
        CU_ASSERT(!loosened || row->why != NULL);
    }
}

UNIT_SUITE("ops.gradients", UNIT(a_loosened_row_says_why),
           UNIT(every_gradient_is_that_of_finite_differences),
           UNIT(every_differentiable_operator_is_checked))
