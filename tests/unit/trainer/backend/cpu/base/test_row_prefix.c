/* Operators of which some leading rows count. Which rows are computed for which count, and with
 * what values, tests/ops/test_rows.c shows; here is when weights are packed. */
#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/row_prefix.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/build/build.h"

enum { ROWS = 32, PIXELS = 4, CHANNELS = 16, ROW = PIXELS * CHANNELS, FENCE = 64 };

struct layer {
    struct backend *backend;
    struct graph graph;
    struct op op;
    struct backend_needs needs;
    struct backend_bound bound;
    _Alignas(BACKEND_ALIGNMENT) float x[ROWS * ROW], w[CHANNELS * CHANNELS], y[ROWS * ROW];
    int32_t count;
    char *scratch, *packed;
};

static void set(float *values, size_t count, float value) {
    for (size_t i = 0; i < count; i++)
        values[i] = value;
}

static void describe(struct layer *l, int64_t rows) {
    struct graph *g = &l->graph;
    graph_init(g, DTYPE_F32, true);
    int x = graph_input(g, "x", DTYPE_F32, shape_4(rows, 2, 2, CHANNELS));
    int count = graph_input(g, "count", DTYPE_I32, shape_1(1));
    graph_rows(g, count);
    (void)graph_conv2d(g, "layer", x, CHANNELS, CHANNELS,
                       (struct op_window){.kernel = 1, .stride = 1});
    CU_ASSERT_EQUAL_FATAL(graph_finish(g, NULL), 0);
    l->op = g->ops[0];
}

static char *memory(size_t bytes) {
    char *made = aligned_alloc(BACKEND_ALIGNMENT, backend_aligned(bytes) + FENCE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(made);
    memset(made, 0xff, backend_aligned(bytes) + FENCE);
    return made;
}

static void layer_open(struct layer *l, enum cpu_convs convs) {
    struct cpu_options options = {.threads = 2, .convs = convs};
    struct error err = {0};
    memset(l, 0, sizeof(*l));
    CU_ASSERT_EQUAL_FATAL(cpu_open(&l->backend, &options, &err), 0);
    describe(l, ROWS);
    const struct backend_table *table = l->backend->table;
    CU_ASSERT(row_prefix_has(&l->graph, &l->op));
    CU_ASSERT_EQUAL_FATAL(table->query(l->backend, &l->graph, &l->op, &l->needs, &err), 0);
    l->scratch = memory(l->needs.scratch);
    l->packed = memory(l->needs.packed);
    void *inputs[OP_INPUTS_MAX] = {l->x, l->w}, *outputs[OP_OUTPUTS_MAX] = {l->y};
    struct op_addresses addresses = {.inputs = inputs,
                                     .outputs = outputs,
                                     .scratch = l->scratch,
                                     .packed = l->packed,
                                     .rows = &l->count};
    CU_ASSERT_EQUAL_FATAL(table->bind(l->backend, &l->graph, &l->op, &addresses, &l->bound, &err),
                          0);
    set(l->x, ROWS * ROW, 1);
}

static void layer_done(struct layer *l) {
    for (size_t i = l->needs.scratch; i < backend_aligned(l->needs.scratch) + FENCE; i++)
        CU_ASSERT_EQUAL(l->scratch[i], (char)0xff);
    for (size_t i = l->needs.packed; i < backend_aligned(l->needs.packed) + FENCE; i++)
        CU_ASSERT_EQUAL(l->packed[i], (char)0xff);
    l->backend->table->release(l->backend, l->bound.step.context);
    graph_done(&l->graph);
    backend_close(l->backend);
    free(l->scratch);
    free(l->packed);
}

/* A run where COUNT rows count; MADE are computed with weights of WEIGHT. */
static void run(struct layer *l, int32_t count, int made, float weight) {
    struct error err = {0};
    l->count = count;
    set(l->y, ROWS * ROW, -1);
    CU_ASSERT_EQUAL(l->bound.step.run(l->bound.step.context, &err), 0);
    for (int i = 0; i < ROWS * ROW; i++)
        CU_ASSERT_EQUAL(l->y[i], i < made * ROW ? weight * CHANNELS : -1);
}

static void refresh(struct layer *l, float weight) {
    struct error err = {0};
    set(l->w, CHANNELS * CHANNELS, weight);
    if (l->bound.refresh.run != NULL)
        CU_ASSERT_EQUAL(l->bound.refresh.run(l->bound.refresh.context, &err), 0);
}

static void each_run_reads_weights_as_they_were_at_the_last_refresh(void) {
    static const enum cpu_convs convs[] = {CPU_CONVS_ONEDNN, CPU_CONVS_GEMM};
    for (int i = 0; i < 2; i++) {
        static struct layer l;
        layer_open(&l, convs[i]);
        refresh(&l, 1);
        run(&l, 1, 2, 1);
        run(&l, 32, 32, 1);
        refresh(&l, 2);
        run(&l, 32, 32, 2);
        run(&l, 2, 2, 2);
        run(&l, 3, 4, 2);
        refresh(&l, 3);
        run(&l, 3, 4, 3);
        run(&l, 0, 2, 3);
        run(&l, 24, 24, 3);
        run(&l, 25, 32, 3);
        run(&l, 1000, 32, 3);             /* no more than there are */
        if (convs[i] == CPU_CONVS_GEMM) { /* they are packed once and not for each run */
            set(l.w, CHANNELS * CHANNELS, 4);
            run(&l, 32, 32, 3);
        }
        layer_done(&l);
    }
}

static void one_row_and_all_rows_have_no_parts(void) {
    static struct layer l;
    describe(&l, 1);
    CU_ASSERT_FALSE(row_prefix_has(&l.graph, &l.op));
    graph_done(&l.graph);
    describe(&l, 2);
    CU_ASSERT(row_prefix_has(&l.graph, &l.op));
    l.op.rows = TENSOR_NONE;
    CU_ASSERT_FALSE(row_prefix_has(&l.graph, &l.op));
    graph_done(&l.graph);
}

UNIT_SUITE("cpu.row_prefix", UNIT(each_run_reads_weights_as_they_were_at_the_last_refresh),
           UNIT(one_row_and_all_rows_have_no_parts))
