/* Checks without an H100 that the operator tests can run on one: for every convolution in their
 * table, plain ones in all types and fused ones in f16, cuDNN must have a plan of the kind that the
 * backend asks for there. The backend asks for no plan that fuses a grouped convolution. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/dnn/conv_plan.h"
#include "trainer/backend/cuda/dnn/conv_table.h"
#include "trainer/graph/op.h"

#include <stdio.h>

struct question {
    const char *name;
    enum dtype dtype;
    cudnnDataType_t type;
    bool deterministic, exact;
};

static bool has_plan(enum dnn_pattern pattern, const struct dnn_conv *conv,
                     const struct dnn_device *device, const struct question *q) {
    struct error err = {0};
    struct dnn_graph graph;
    static struct dnn_plan_list list;
    struct dnn_plan_query query = {.device = device,
                                   .workspace_max = CONV_WORKSPACE_MAX,
                                   .most = 1,
                                   .precompiled = true,
                                   .deterministic = q->deterministic,
                                   .exact = q->exact};
    if (!dnn_pattern_applies(pattern, conv))
        return false;
    bool has = dnn_graph_build(&graph, pattern, conv, q->type, &err) == 0 &&
               dnn_plan_list_find(&list, &graph, &query, &err) == 0 && list.count > 0;
    if (err.code != 0)
        printf("%s\n", err.text);
    dnn_plan_list_done(&list);
    dnn_graph_done(&graph);
    return has;
}

/* Asks for plans for one row's convolutions; returns how many it asked for. */
static int check_row(const struct op_case *row, const struct dnn_device *device,
                     const struct question *q, int *missing) {
    struct op_graph g;
    int asked = 0;
    op_graph_init(&g, row, q->dtype);
    for (int i = 0; i < g.graph.op_count; i++) {
        const struct op *op = &g.graph.ops[i];
        const struct conv_table *form = conv_table(op);
        if (form == NULL || (form->pattern > DNN_GRAD_WEIGHT && q->dtype != DTYPE_F16))
            continue;
        struct dnn_conv conv = conv_table_shape(form, &g.graph, op);
        if (form->pattern > DNN_GRAD_WEIGHT && conv.groups > 1)
            continue;
        asked++;
        if (has_plan(form->pattern, &conv, device, q))
            continue;
        ++*missing;
        printf("%s: %s: no plan for %s\n", q->name, row->name, op_name(op->kind));
    }
    op_graph_done(&g);
    return asked;
}

static void hold(const struct question *q) {
    struct error err = {0};
    struct dnn_device device;
    int asked = 0, missing = 0;
    CU_ASSERT_EQUAL_FATAL(dnn_device_read(&device, RINGMASTER_CUDA_DEVICES "/h100.json", &err), 0);
    for (int i = 0; i < op_case_count(); i++)
        asked += check_row(op_case_at(i), &device, q, &missing);
    printf("%s: %d of %d convolutions have a plan\n", q->name, asked - missing, asked);
    CU_ASSERT(asked > 20);
    CU_ASSERT_EQUAL(missing, 0);
    dnn_device_done(&device);
}

static void every_row_has_plans_in_f16(void) {
    hold(&(struct question){"f16", DTYPE_F16, CUDNN_DATA_HALF, true, false});
}

static void every_row_has_plans_in_f16_where_bits_may_change(void) {
    hold(&(struct question){"f16, any bits", DTYPE_F16, CUDNN_DATA_HALF, false, false});
}

static void every_row_has_plans_in_bf16(void) {
    hold(&(struct question){"bf16", DTYPE_BF16, CUDNN_DATA_BFLOAT16, true, false});
}

static void every_row_has_exact_plans_in_f32(void) {
    hold(&(struct question){"f32", DTYPE_F32, CUDNN_DATA_FLOAT, true, true});
}

static void every_row_has_plans_in_tf32(void) {
    hold(&(struct question){"tf32", DTYPE_F32, CUDNN_DATA_FLOAT, false, false});
}

UNIT_SUITE("plans.cases", UNIT(every_row_has_plans_in_f16),
           UNIT(every_row_has_plans_in_f16_where_bits_may_change),
           UNIT(every_row_has_plans_in_bf16), UNIT(every_row_has_exact_plans_in_f32),
           UNIT(every_row_has_plans_in_tf32))
