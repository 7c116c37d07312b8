#include "tests/ops/parity.h"

#include "tests/ops/harness.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/op.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many terms the longest sum of the operator has. */
static double reduction_length(const struct graph *graph, const struct op *op) {
    const struct shape *in = &graph->tensors[op->inputs[0]].shape;
    double count = (double)shape_count(in);
    double rows = count / (double)in->dim[in->rank - 1];
    const struct shape *w =
        op->inputs[1] == TENSOR_NONE ? NULL : &graph->tensors[op->inputs[1]].shape;
    switch (op->kind) {
    case OP_CONV2D:
    case OP_CONV2D_AFFINE:
    case OP_LINEAR:
        return (double)(shape_count(w) / w->dim[0]);
    case OP_CONV2D_GRAD_DATA:
        return (double)(shape_count(w) / w->dim[w->rank - 1]);
    case OP_LINEAR_GRAD_DATA:
        return (double)w->dim[0];
    case OP_SOFTMAX_CROSS_ENTROPY:
    case OP_SOFTMAX_CROSS_ENTROPY_GRAD:
        return count;
    case OP_CONV2D_STATS:
    case OP_NORM_CONV2D_STATS:
    case OP_JOIN_CONV2D_STATS:
    case OP_DUAL_JOIN_CONV2D_STATS:
        return fmax(rows, (double)(shape_count(w) / w->dim[0]));
    case OP_CONV2D_GRAD_DATA_NORM:
    case OP_CONV2D_GRAD_DATA_ADD_NORM:
    case OP_CONV2D_GRAD_DATA_ADD_JOIN:
    case OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN:
    case OP_CONV2D_GRAD_DATA_AFFINE:
        return fmax(rows, (double)(shape_count(w) / w->dim[w->rank - 1]));
    default:
        return rows;
    }
}

static double least_tolerance;
static double (*own_bound)(enum op_kind kind); /* NULL: each row's own bound */

static double rule(const struct op_graph *g, const struct op *op) {
    if (g->row->wide)
        return 1e-6;
    if (g->graph.dtype == DTYPE_BF16)
        return g->row->bf16_tolerance > 0 ? g->row->bf16_tolerance : 1e-2;
    if (g->graph.dtype == DTYPE_F16)
        return g->row->f16_tolerance > 0 ? g->row->f16_tolerance : 2e-3;
    if (g->row->f32_tolerance > 0)
        return g->row->f32_tolerance;
    return fmax(2e-6 * sqrt(reduction_length(&g->graph, op)), 1e-5);
}

static double tolerance(const struct op_graph *g, const struct op *op) {
    return own_bound != NULL ? own_bound(op->kind) : fmax(rule(g, op), least_tolerance);
}

double parity_error(const struct tensor *tensor, const void *a, const void *ref) {
    double worst = 0, largest = 0;
    bool exact = tensor->dtype == DTYPE_I32 || tensor->dtype == DTYPE_U8;
    for (int64_t i = 0; i < tensor_count(tensor); i++) {
        double expected = value_get(ref, tensor->dtype, i), value = value_get(a, tensor->dtype, i);
        if (value == expected || (isnan(value) && isnan(expected))) {
            largest = isfinite(expected) ? fmax(largest, fabs(expected)) : largest;
            continue;
        }
        if (exact || !isfinite(value) || !isfinite(expected))
            return INFINITY;
        worst = fmax(worst, fabs(value - expected));
        largest = fmax(largest, fabs(expected));
    }
    return worst == 0 ? 0 : worst / largest;
}

/* In bf16 and f16 a fused pool compares values before they are rounded. Values that are equal after
 * rounding leave the choice open, so a few indices may differ. */
static void check_index(const struct op_graph *g, const struct op *op, const struct tensor *tensor,
                        const uint8_t *a, const uint8_t *ref, const char *what) {
    int64_t different = 0, count = tensor_count(tensor);
    for (int64_t i = 0; i < count; i++)
        different += a[i] != ref[i];
    bool open = op->kind == OP_BATCH_NORM && op->attr.form == NORM_RELU_MAX_POOL &&
                g->graph.dtype != DTYPE_F32;
    if (different > (open ? count / 20 : 0)) {
        printf("%s: %s: %lld of %lld indices differ\n", g->row->name, what, (long long)different,
               (long long)count);
        CU_FAIL("indices of a pool differ");
    }
}

static bool holds_nan(const struct tensor *tensor, const void *values) {
    for (int64_t i = 0; i < tensor_count(tensor); i++)
        if (isnan(value_get(values, tensor->dtype, i)))
            return true;
    return false;
}

static bool reads_nan(const struct op_graph *g, const struct op *op) {
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op->inputs[i] != TENSOR_NONE &&
            holds_nan(&g->graph.tensors[op->inputs[i]], g->value[op->inputs[i]]))
            return true;
    return false;
}

static void check_tensor(const struct op_graph *g, const struct op *op, int number,
                         void *const *result, const char *backend, const char *how) {
    const struct tensor *tensor = &g->graph.tensors[number];
    char what[200];
    (void)snprintf(what, sizeof(what), "%s %s %s%s", backend, op_name(op->kind),
                   dtype_name(g->graph.dtype), how);
    if (tensor->dtype == DTYPE_U8) {
        check_index(g, op, tensor, result[number], g->value[number], what);
        return;
    }
    if (holds_nan(tensor, g->value[number]) && !reads_nan(g, op)) {
        printf("%s: %s: the reference has NaN\n", g->row->name, what);
        CU_FAIL("the reference left an element out");
    }
    double error = parity_error(tensor, result[number], g->value[number]);
    if (!(error <= tolerance(g, op))) {
        printf("%s: %s: error %.3g, at most %.3g\n", g->row->name, what, error, tolerance(g, op));
        CU_FAIL("a backend differs from the reference");
    }
}

static void check_results(const struct op_graph *g, const struct op *op, void *const *result,
                          const char *backend, const char *how) {
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            check_tensor(g, op, op->outputs[i], result, backend, how);
}

/* Allocates separate results for the backend under test. */
static void new_results(const struct op_graph *g, void **result) {
    for (int i = 0; i < g->graph.tensor_count; i++) {
        result[i] = calloc(1, tensor_bytes(&g->graph.tensors[i]));
        CU_ASSERT_PTR_NOT_NULL_FATAL(result[i]);
    }
}

static void fail_run(const struct op_graph *g, const char *backend, const struct error *err) {
    printf("%s: %s: %s\n", g->row->name, backend, err->text);
    CU_FAIL("a backend failed");
}

/* Runs operator NUMBER on the backend, out of place and in place, and compares with the reference's
 * values. The running statistics that both update are compared before the reference's replace the
 * old ones. */
static void compare_op(struct op_graph *g, struct backend *ref, struct backend *backend, int number,
                       void **result) {
    const struct op op = g->graph.ops[number];
    struct error err = {0};
    const char *name = backend->table->name;
    if (op_graph_run(g, backend, number, false, result, &err) != 0) {
        fail_run(g, name, &err);
        return;
    }
    void *updated[CASE_TENSORS_MAX] = {0};
    new_results(g, updated);
    if (op_graph_run(g, ref, number, false, updated, &err) != 0)
        fail_run(g, "ref", &err);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op.outputs[i] != TENSOR_NONE)
            memcpy(g->value[op.outputs[i]], updated[op.outputs[i]],
                   tensor_bytes(&g->graph.tensors[op.outputs[i]]));
    check_results(g, &op, result, name, "");
    for (int i = 0; i < OP_INPUTS_MAX; i++) {
        if (op.inputs[i] == TENSOR_NONE || !op_updates(op.kind, i))
            continue;
        const struct tensor *tensor = &g->graph.tensors[op.inputs[i]];
        double error = parity_error(tensor, result[op.inputs[i]], updated[op.inputs[i]]);
        if (!(error <= tolerance(g, &op))) {
            printf("%s: %s: running statistics: error %.3g\n", g->row->name, name, error);
            CU_FAIL("running statistics differ");
        }
    }
    for (int i = 0; i < CASE_TENSORS_MAX; i++)
        free(updated[i]);
    if (op_graph_in_place(g, backend, number)) {
        if (op_graph_run(g, backend, number, true, result, &err) != 0)
            fail_run(g, name, &err);
        else
            check_results(g, &op, result, name, " in place");
    }
}

/* Returns whether BACKEND has KIND by its column of ops.def. */
static bool is_in_column(const struct backend *backend, enum op_kind kind) {
    static const char *const of_cpu[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda) [OP_##kind] = #cpu,
#include "trainer/graph/ops.def"
    };
    return strcmp(backend->table->name, "cpu") != 0 || strcmp(of_cpu[kind], "none") != 0;
}

/* A backend has some fused convolutions, and fused ones in groups, only as far as its kernels
 * support them. */
static void check_support(const struct backend *backend, const struct op *op, bool supported) {
    const enum op_kind kind = op->kind;
    bool in_column = is_in_column(backend, kind);
    bool partly = kind == OP_CONV2D_AFFINE ||
                  (kind >= OP_CONV2D_GRAD_DATA_NORM && kind <= OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN) ||
                  (kind >= OP_CONV2D_STATS && op_window_groups(&op->attr.window) > 1);
    bool right = supported == in_column || (in_column && partly);
    if (!right)
        printf("%s is%s there\n", op_name(kind), supported ? "" : " not");
    CU_ASSERT(right);
    CU_ASSERT(in_column || kind >= OP_CONV2D_STATS);
}

void parity_check(struct backend *backend, enum dtype dtype, enum parity_scope scope) {
    parity_check_rows(backend, dtype, scope, getenv("OPS_ROWS"));
}

void parity_check_rows(struct backend *backend, enum dtype dtype, enum parity_scope scope,
                       const char *words) {
    struct backend *ref = NULL;
    struct error err = {0};
    bool affine = false;
    bool meant = words != NULL && strcmp(words, PARITY_NO_ROWS) == 0;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    for (int i = 0; i < op_case_count(); i++) {
        if (!op_case_is_meant(op_case_at(i), words))
            continue;
        meant = true;
        struct op_graph g;
        void *result[CASE_TENSORS_MAX] = {0};
        op_graph_init(&g, op_case_at(i), dtype);
        new_results(&g, result);
        for (int op = 0; op < g.graph.op_count; op++) {
            bool supported = backend->table->supports(backend, &g.graph, &g.graph.ops[op]);
            if (scope == PARITY_ALL)
                check_support(backend, &g.graph.ops[op], supported);
            if (supported)
                compare_op(&g, ref, backend, op, result);
            affine |= supported && g.graph.ops[op].kind == OP_CONV2D_AFFINE;
        }
        for (int t = 0; t < CASE_TENSORS_MAX; t++)
            free(result[t]);
        op_graph_done(&g);
    }
    if (!meant)
        printf("\"%s\": no row of tests/ops/cases*.c has that in its name\n", words);
    CU_ASSERT(meant);
    CU_ASSERT(affine || scope == PARITY_SOME || words != NULL);
    backend_close(ref);
}

void parity_check_bounded(struct backend *backend, enum dtype dtype, const char *words,
                          double (*bound)(enum op_kind kind)) {
    own_bound = bound;
    parity_check_rows(backend, dtype, PARITY_ALL, words);
    own_bound = NULL;
}

void parity_check_rounded(struct backend *backend, enum dtype dtype, double least) {
    least_tolerance = least;
    parity_check(backend, dtype, PARITY_SOME);
    least_tolerance = 0;
}

void parity_check_outliers(struct backend *backend) {
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        if (op_case_at(i)->outlier == 0)
            continue;
        op_graph_init(&g, op_case_at(i), DTYPE_F32);
        const struct op op = g.graph.ops[0];
        int saved = op.outputs[NORM_SAVED_INVSTD];
        const struct tensor *tensor = &g.graph.tensors[saved];
        double expected[64], worst = 0;
        CU_ASSERT_FATAL(tensor_count(tensor) <= 64);
        CU_ASSERT_EQUAL(op_graph_run(&g, ref, 0, false, g.value, &err), 0);
        for (int64_t c = 0; c < tensor_count(tensor); c++)
            expected[c] = pow(value_get(g.value[saved], DTYPE_F32, c), -2);
        CU_ASSERT_EQUAL(op_graph_run(&g, backend, 0, false, g.value, &err), 0);
        for (int64_t c = 0; c < tensor_count(tensor); c++)
            worst = fmax(worst,
                         fabs(pow(value_get(g.value[saved], DTYPE_F32, c), -2) / expected[c] - 1));
        if (!(worst <= 1e-5))
            printf("%s: variance %.3g apart\n", op_case_at(i)->name, worst);
        CU_ASSERT(worst <= 1e-5);
        op_graph_done(&g);
    }
    backend_close(ref);
}
