/* Every backend of this build against the reference. */
#include "graph/op.h"
#include "ops/harness.h"
#include "ops/parity.h"
#include "ref/ref.h"
#include "ref/value.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Into memory full of NaN, apart and in place: what the reference leaves out, or reads after it has
 * written over it, shows. Whether it is right is shown by test_gradients.c and by the backends. */
static void the_reference_writes_every_element_also_in_place(void) {
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    parity_check(ref, DTYPE_F32, PARITY_ALL);
    parity_check(ref, DTYPE_BF16, PARITY_ALL);
    parity_check(ref, DTYPE_F16, PARITY_ALL);
    backend_close(ref);
}

static void rows_are_meant_by_any_of_the_words(void) {
    const struct op_case row = {.name = "roi align tiny, aligned"};
    CU_ASSERT(op_case_is_meant(&row, NULL));
    CU_ASSERT(op_case_is_meant(&row, "align tiny"));
    CU_ASSERT(op_case_is_meant(&row, "loss|tiny, a|nms"));
    CU_ASSERT(op_case_is_meant(&row, "loss|aligned"));
    CU_ASSERT_FALSE(op_case_is_meant(&row, "loss|align  tiny"));
    CU_ASSERT_FALSE(op_case_is_meant(&row, "none"));
    CU_ASSERT_FALSE(op_case_is_meant(&row, ""));
}

static void what_is_no_number_and_what_is_whole_has_to_be_the_same(void) {
    const struct tensor wide = {.dtype = DTYPE_F32, .shape = shape_1(3)};
    const struct tensor whole = {.dtype = DTYPE_I32, .shape = shape_1(3)};
    static const float ref[] = {NAN, -INFINITY, 4}, near[] = {NAN, -INFINITY, 4.004F};
    static const float number[] = {0, -INFINITY, 4}, other[] = {NAN, INFINITY, 4};
    static const float none[] = {NAN, -INFINITY, NAN};
    CU_ASSERT_DOUBLE_EQUAL(parity_error(&wide, near, ref), 1e-3, 1e-6);
    CU_ASSERT_EQUAL(parity_error(&wide, ref, ref), 0);
    CU_ASSERT(isinf(parity_error(&wide, number, ref)));
    CU_ASSERT(isinf(parity_error(&wide, other, ref)));
    CU_ASSERT(isinf(parity_error(&wide, none, ref)));
    static const int32_t counts[] = {1, -2, 16777217}, close[] = {1, -2, 16777216};
    CU_ASSERT_EQUAL(parity_error(&whole, counts, counts), 0);
    CU_ASSERT(isinf(parity_error(&whole, close, counts)));
}

static void the_reference_gives_whole_numbers_whole(void) {
    static const double from[] = {16777217, -3, 0};
    int32_t to[3] = {9, 9, 9};
    double back[3];
    ref_narrow(to, from, DTYPE_I32, 3);
    ref_widen(back, to, DTYPE_I32, 3);
    CU_ASSERT(to[0] == 16777217 && to[1] == -3 && to[2] == 0);
    CU_ASSERT_EQUAL(memcmp(back, from, sizeof(back)), 0);
}

static void every_operator_has_a_row(void) {
    bool seen[OP_KINDS] = {false};
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_init(&g, op_case_at(i), DTYPE_F32);
        for (int op = 0; op < g.graph.op_count; op++)
            seen[g.graph.ops[op].kind] = true;
        op_graph_done(&g);
    }
    for (int kind = 0; kind < OP_KINDS; kind++) {
        if (!seen[kind])
            printf("%s has no row\n", op_name((enum op_kind)kind));
        CU_ASSERT(seen[kind]);
    }
}

static void every_form_of_a_norm_has_a_row(void) {
    static const enum op_kind kinds[] = {OP_BATCH_NORM, OP_BATCH_NORM_GRAD,
                                         OP_BATCH_NORM_INFERENCE};
    bool seen[OP_KINDS][NORM_FORMS] = {{false}};
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_init(&g, op_case_at(i), DTYPE_F32);
        for (int op = 0; op < g.graph.op_count; op++)
            seen[g.graph.ops[op].kind][g.graph.ops[op].attr.form] = true;
        op_graph_done(&g);
    }
    for (int k = 0; k < 3; k++)
        for (int form = NORM_PLAIN; form < NORM_FORMS; form++) {
            bool none = kinds[k] == OP_BATCH_NORM_INFERENCE && form == NORM_RELU_MAX_POOL;
            if (seen[kinds[k]][form] == none)
                printf("%s in form %d has no row, or one too many\n", op_name(kinds[k]), form);
            CU_ASSERT(seen[kinds[k]][form] != none);
        }
}

#ifdef RINGMASTER_HAVE_CPU
static struct backend *new_cpu(int threads) {
    struct backend *cpu = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = threads};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
    return cpu;
}

static void compare_cpu(enum dtype dtype, int threads) {
    struct backend *cpu = new_cpu(threads);
    /* Held to less than the machine has, to run what others would. */
    if (getenv("ONEDNN_MAX_CPU_ISA") != NULL)
        ASSERT_CONTAINS(cpu->table->describe(cpu), "products in f32");
    parity_check(cpu, dtype, PARITY_ALL);
    backend_close(cpu);
}

/* Whatever the rules choose. */
static void each_kind_of_convolution_agrees_with_the_reference(void) {
    static const enum cpu_convs convs[] = {CPU_CONVS_ONEDNN, CPU_CONVS_GEMM};
    for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
        struct backend *cpu = NULL;
        struct cpu_options options = {.threads = 3, .convs = convs[i]};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
        parity_check_rows(cpu, DTYPE_F32, PARITY_ALL, "conv");
        backend_close(cpu);
    }
}

/* Winograd's products of 4x4 tiles have bounds of their own. A plain sum's error grows with the
 * root of its length, and the rows' rule with it. Here values go through transforms first and last,
 * whose coefficients of up to 8 make terms that are larger than the result and cancel: that loses
 * the same few bits whatever the number of channels. Found were at most 8.4e-6 of the largest
 * value, and 3.5e-6 in weight gradients, whose last transform is the smaller one; twice that is
 * allowed, which of many channels is less than the rule would. */
static double winograds_bound(enum op_kind kind) {
    return kind == OP_CONV2D_GRAD_WEIGHT ? 8e-6 : 2e-5;
}

static void winograds_products_agree_within_bounds_of_their_own(void) {
    struct backend *cpu = NULL;
    struct cpu_options options = {.threads = 3, .convs = CPU_CONVS_WINOGRAD};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
    parity_check_bounded(cpu, DTYPE_F32, "conv 3x3", winograds_bound);
    parity_check_rows(cpu, DTYPE_F32, PARITY_ALL, "conv");
    backend_close(cpu);
}

static void fill(struct op_graph *g, int tensor, double value) {
    const struct tensor *t = &g->graph.tensors[tensor];
    for (int64_t i = 0; i < tensor_count(t); i++)
        value_set(g->value[tensor], t->dtype, i, value);
}

/* Sums of ones times weights that are halfway between 1 and the next number of bf16. */
static void check_rounding(struct backend *backend, const struct op_case *row) {
    struct op_graph g;
    struct error err = {0};
    op_graph_init(&g, row, DTYPE_BF16);
    const struct op *op = &g.graph.ops[0];
    fill(&g, op->inputs[0], 1);
    fill(&g, op->inputs[1], 1 + 0x1p-8);
    if (op->inputs[2] != TENSOR_NONE)
        fill(&g, op->inputs[2], 0);
    const struct tensor *y = &g.graph.tensors[op->outputs[0]];
    double most = 0;
    CU_ASSERT_EQUAL(op_graph_run(&g, backend, 0, false, g.value, &err), 0);
    for (int64_t i = 0; i < tensor_count(y); i++)
        most = fmax(most, value_get(g.value[op->outputs[0]], y->dtype, i));
    /* A window that nothing is cut off from. */
    const struct shape *w = &g.graph.tensors[op->inputs[1]].shape;
    double terms = (double)(shape_count(w) / w->dim[0]);
    if (most != terms)
        printf("%s: %s: %g instead of %g\n", row->name, backend->table->name, most, terms);
    CU_ASSERT_EQUAL(most, terms);
    op_graph_done(&g);
}

/* Strided ones, as Winograd's transforms round by themselves. */
static void weights_are_rounded_to_the_activations_type(void) {
    struct backend *ref = NULL, *cpu = new_cpu(2);
    struct error err = {0};
    int rows = 0;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    for (int i = 0; i < op_case_count(); i++) {
        const struct op_case *row = op_case_at(i);
        if (row->kind != OP_LINEAR && (row->kind != OP_CONV2D || row->attr.window.stride != 2))
            continue;
        check_rounding(ref, row);
        check_rounding(cpu, row);
        rows++;
    }
    CU_ASSERT(rows >= 4);
    backend_close(ref);
    backend_close(cpu);
}

static void an_outlier_takes_no_digits_from_the_cpus_variance(void) {
    struct backend *cpu = new_cpu(2);
    parity_check_outliers(cpu);
    backend_close(cpu);
}

static void cpu_agrees_with_the_reference_in_f32(void) {
    compare_cpu(DTYPE_F32, 2);
}

static void cpu_agrees_with_the_reference_in_bf16(void) {
    compare_cpu(DTYPE_BF16, 1);
    compare_cpu(DTYPE_BF16, 4);
}
#define CPU_CASES                                                                                  \
    UNIT(cpu_agrees_with_the_reference_in_f32), UNIT(cpu_agrees_with_the_reference_in_bf16),       \
        UNIT(each_kind_of_convolution_agrees_with_the_reference),                                  \
        UNIT(winograds_products_agree_within_bounds_of_their_own),                                 \
        UNIT(weights_are_rounded_to_the_activations_type),                                         \
        UNIT(an_outlier_takes_no_digits_from_the_cpus_variance),
#else
#define CPU_CASES
#endif

UNIT_MAIN("ops.parity", CPU_CASES UNIT(the_reference_writes_every_element_also_in_place),
          UNIT(every_operator_has_a_row), UNIT(every_form_of_a_norm_has_a_row),
          UNIT(the_reference_gives_whole_numbers_whole), UNIT(rows_are_meant_by_any_of_the_words),
          UNIT(what_is_no_number_and_what_is_whole_has_to_be_the_same))
