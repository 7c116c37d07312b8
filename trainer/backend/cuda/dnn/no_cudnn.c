/* Replacement for convs.c in a build without cuDNN. */
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/dnn/convs.h"

#include <string.h>

int convs_open(struct cuda *cuda, const char *name, struct error *err) {
    (void)cuda, (void)name, (void)err;
    return 0;
}

int convs_describe(struct cuda *cuda, const char *path, struct error *err) {
    (void)cuda, (void)path, (void)err;
    return 0;
}

int convs_stream(struct cuda *cuda, struct error *err) {
    (void)cuda, (void)err;
    return 0;
}

void convs_close(struct convs *convs) {
    (void)convs;
}

/* The rule of each kind, by its row in the list. */
static const char *const rules[OP_KINDS] = {
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    [OP_##kind] = #cuda,
#include "trainer/graph/ops.def"
};

static bool is_plain(enum op_kind kind) {
    return kind == OP_CONV2D || kind == OP_CONV2D_GRAD_DATA || kind == OP_CONV2D_GRAD_WEIGHT;
}

/* Without cuDNN no graph should contain a fused convolution. Plain ones are let through, so that
 * the query's message says what is missing. */
bool convs_support(struct cuda *cuda, const struct graph *graph, const struct op *op) {
    (void)cuda, (void)graph;
    return strcmp(rules[op->kind], "conv") != 0 || is_plain(op->kind);
}

static int refuse_query(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        struct backend_needs *needs, struct error *err) {
    (void)cuda, (void)graph, (void)op, (void)needs;
    return error_set(err, EXIT_CODE_DEVICE,
                     "backend cuda was built without cuDNN and has no convolutions "
                     "(RINGMASTER_CUDNN)");
}

/* Never reached: refused operators are not bound. */
static int refuse_bind(struct cuda *cuda, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *bound,
                       struct error *err) {
    (void)addresses, (void)bound;
    return refuse_query(cuda, graph, op, NULL, err);
}

const struct cuda_rule cuda_conv_rule = {refuse_query, refuse_bind};

const char *convs_text(void) {
    return "without cuDNN: no convolutions";
}

const char *convs_loaded(void) {
    return NULL;
}
