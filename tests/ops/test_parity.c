/* The reference by itself, the table of rows, and how results are compared. Backends against it:
 * test_parity_cpu.c, test_parity_convs.c. */
#include "tests/ops/harness.h"
#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/base/value.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/op.h"

#include <math.h>
#include <stdio.h>
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
            printf("%s has no row in the parity test: add one to tests/ops/cases*.c\n",
                   op_name((enum op_kind)kind));
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

UNIT_SUITE("ops.parity", UNIT(the_reference_writes_every_element_also_in_place),
           UNIT(every_operator_has_a_row), UNIT(every_form_of_a_norm_has_a_row),
           UNIT(the_reference_gives_whole_numbers_whole), UNIT(rows_are_meant_by_any_of_the_words),
           UNIT(what_is_no_number_and_what_is_whole_has_to_be_the_same))
