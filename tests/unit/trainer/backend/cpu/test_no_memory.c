/* If memory runs out while a backend is opened or an operator is bound, the result is an error and
 * nothing is leaked. */
#include "tests/ops/harness.h"
#include "tests/support/no_memory.h"
#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/cpu.h"

#include <stdio.h>

enum { ALLOCATIONS_MOST = 100 };

static void an_open_backend_wants_memory(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    no_memory_begin(1, true);
    CU_ASSERT_EQUAL(cpu_open(&backend, &(struct cpu_options){.threads = 1}, &err), -1);
    CU_ASSERT(no_memory_end());
    ASSERT_CONTAINS(err.text, "the cpu backend");
    CU_ASSERT_PTR_NULL(backend);
}

static void an_arena_wants_memory(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 1}, &err), 0);
    no_memory_begin(1, true);
    CU_ASSERT_PTR_NULL(backend->table->alloc(backend, 4096, &err));
    CU_ASSERT(no_memory_end());
    ASSERT_CONTAINS(err.text, "an arena in host memory");
    backend_close(backend);
}

/* Binds where allocation number N fails; false where there are fewer. */
static bool bind_without(struct backend *backend, struct op_graph *g, const struct op *op,
                         const struct op_addresses *addresses, size_t n) {
    struct backend_bound bound = {0};
    struct error err = {0};
    no_memory_begin(n, false);
    int status = backend->table->bind(backend, &g->graph, op, addresses, &bound, &err);
    bool failed = no_memory_end();
    if (status != (failed ? -1 : 0))
        printf("%s: %s: %d\n", g->row->name, op_name(op->kind), status);
    CU_ASSERT_EQUAL(status, failed ? -1 : 0);
    CU_ASSERT_EQUAL(failed, err.text[0] != '\0');
    CU_ASSERT_EQUAL(failed, bound.step.context == NULL);
    if (!failed)
        backend->table->release(backend, bound.step.context);
    return failed;
}

static void bind_op(struct backend *backend, struct op_graph *g, const struct op *op) {
    void *inputs[OP_INPUTS_MAX] = {NULL}, *outputs[OP_OUTPUTS_MAX] = {NULL};
    struct backend_needs needs = {0};
    struct error err = {0};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = op->inputs[i] == TENSOR_NONE ? NULL : g->value[op->inputs[i]];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        outputs[i] = op->outputs[i] == TENSOR_NONE ? NULL : g->value[op->outputs[i]];
    CU_ASSERT_EQUAL(backend->table->query(backend, &g->graph, op, &needs, &err), 0);
    struct op_addresses addresses = {.inputs = inputs,
                                     .outputs = outputs,
                                     .scratch = backend->table->alloc(backend, needs.scratch, &err),
                                     .packed = backend->table->alloc(backend, needs.packed, &err),
                                     .rows = op->rows == TENSOR_NONE ? NULL : g->value[op->rows]};
    size_t n = 1;
    while (n < ALLOCATIONS_MOST && bind_without(backend, g, op, &addresses, n))
        n++;
    CU_ASSERT(n > 1 && n < ALLOCATIONS_MOST);
    backend->table->free(backend, addresses.scratch, needs.scratch);
    backend->table->free(backend, addresses.packed, needs.packed);
}

/* All operators of a row, also as those of which some rows count. */
static void bind_row(struct backend *backend, const struct op_case *row, enum dtype dtype) {
    struct op_graph g;
    op_graph_init(&g, row, dtype);
    int rows = op_graph_input(&g, DTYPE_I32, shape_1(1), FILL_GIVEN);
    (void)op_graph_values(&g, rows);
    for (int i = 0; i < g.graph.op_count; i++) {
        struct op *op = &g.graph.ops[i];
        if (!backend->table->supports(backend, &g.graph, op))
            continue;
        bind_op(backend, &g, op);
        op->rows = rows;
        bind_op(backend, &g, op);
        op->rows = TENSOR_NONE;
    }
    op_graph_done(&g);
}

/* One row of each kind of operator and form, and of each kind of convolution. */
static const char rows[] =
    "image padded|conv odd channels|conv 3x3 64|conv 1x1 64 to 256|transposed conv tiny|bias tiny|"
    "upsample add tiny|norm tiny|join tiny|pool tiny|frozen norm tiny|sigmoid tiny|"
    "average pool tiny|linear tiny|loss tiny|conv bias tiny|into a norm 3x3 64|"
    "apply a norm's gradient|resize, blue|top 1|rpn boxes of no|nms of nothing|one proposal|"
    "rpn targets of no|rpn loss tiny|rpn head of one|roi targets of nothing|roi align tiny|"
    "mask rows of nothing|mask targets of nothing|class conv tiny|mask loss of no|"
    "detections of nothing|total loss without";

static void each_operator_wants_memory(void) {
    static const enum cpu_convs convs[] = {CPU_CONVS_AUTO, CPU_CONVS_GEMM, CPU_CONVS_WINOGRAD};
    for (int k = 0; k < 3; k++) {
        struct backend *backend = NULL;
        struct cpu_options options = {.threads = 2, .convs = convs[k]};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
        for (int i = 0; i < op_case_count(); i++) {
            if (!op_case_is_meant(op_case_at(i), k == 0 ? rows : "conv 3x3 64|conv bias relu add"))
                continue;
            bind_row(backend, op_case_at(i), DTYPE_F32);
            bind_row(backend, op_case_at(i), DTYPE_BF16);
        }
        backend_close(backend);
    }
}

UNIT_SUITE("cpu.no_memory", UNIT(an_open_backend_wants_memory), UNIT(an_arena_wants_memory),
           UNIT(each_operator_wants_memory))
