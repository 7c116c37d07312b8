/* Which gradients of convolutions with a bias or a frozen norm take masks, sums and scales along.
 * Layers are put together as fusion before the backward pass leaves them, then differentiated and
 * fused again; operators and their inputs are looked at, and nothing is computed. */
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/rules/op_table.h"

#include <string.h>

enum { CHANNELS = 8, SIDE = 6 };

/* A graph with its input, a map of CHANNELS. */
struct net {
    struct graph graph;
    struct backend *backend;
    int image;
};

/* Adds a tensor of any role; names need not be unique without the builder. */
static int parameter(struct net *n, const char *name, struct shape shape, enum tensor_role role) {
    int tensor = graph_tensor(&n->graph, name, DTYPE_F32, shape, role, NULL);
    CU_ASSERT_FATAL(tensor >= 0);
    return tensor;
}

/* Returns relu(conv(x) + bias), or with a frozen norm in the place of the bias (+ side). A norm's
 * values are constants, a bias is trained. */
static int layer(struct net *n, int x, bool norm, int side, bool relu) {
    int inputs[AFFINE_INPUTS];
    for (int i = 0; i < AFFINE_INPUTS; i++)
        inputs[i] = TENSOR_NONE;
    inputs[AFFINE_X] = x;
    inputs[AFFINE_W] = parameter(n, "w", shape_4(CHANNELS, 3, 3, CHANNELS), TENSOR_PARAMETER);
    for (int i = norm ? AFFINE_GAMMA : AFFINE_BIAS; i <= (norm ? AFFINE_VARIANCE : AFFINE_BIAS);
         i++)
        inputs[i] = parameter(n, "c", shape_1(CHANNELS), norm ? TENSOR_CONSTANT : TENSOR_PARAMETER);
    inputs[AFFINE_SIDE] = side;
    struct op_attr attr = {
        .window = {.kernel = 3, .stride = 1, .pad = 1}, .relu = relu, .epsilon = 1e-5};
    int op = graph_append(&n->graph, OP_CONV2D_AFFINE, "layer", inputs, &attr, NULL);
    CU_ASSERT_FATAL(op >= 0);
    return n->graph.ops[op].outputs[0];
}

static void begin(struct net *n) {
    *n = (struct net){0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&n->backend, NULL), 0);
    graph_init(&n->graph, DTYPE_F32, true);
    n->image = parameter(n, "image", shape_4(2, SIDE, SIDE, CHANNELS), TENSOR_INPUT);
}

static struct backend_table poor_table;

/* A backend without data gradients that apply a mask. */
static bool lacks_masks(const struct backend *backend, const struct graph *graph,
                        const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind != OP_CONV2D_GRAD_DATA_AFFINE || op->inputs[AFFINE_GRAD_Y] == TENSOR_NONE;
}

/* Gives X a loss, adds the gradients of what was built, and fuses; with POOR, for a backend that
 * lacks masks. */
static void rewrite(struct net *n, int x, bool poor) {
    struct error err = {0};
    int labels = graph_tensor(&n->graph, "labels", DTYPE_I32, shape_1(2), TENSOR_INPUT, &err);
    int weights = graph_tensor(&n->graph, "weights", DTYPE_F32, shape_1(2), TENSOR_INPUT, &err);
    int pool = graph_append(&n->graph, OP_GLOBAL_AVG_POOL, "pool", (int[]){x}, NULL, &err);
    int linear[] = {n->graph.ops[pool].outputs[0],
                    parameter(n, "fc", shape_2(CHANNELS, CHANNELS), TENSOR_PARAMETER),
                    parameter(n, "fc", shape_1(CHANNELS), TENSOR_PARAMETER)};
    int logits = graph_append(&n->graph, OP_LINEAR, "fc", linear, NULL, &err);
    int loss[] = {n->graph.ops[logits].outputs[0], labels, weights};
    struct op_attr attr = {.gradient_scale = 0.5};
    int last = graph_append(&n->graph, OP_SOFTMAX_CROSS_ENTROPY, "loss", loss, &attr, &err);
    CU_ASSERT_FATAL(last >= 0);
    n->graph.losses[n->graph.loss_count++] = last;
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(&n->graph, &err), 0);
    if (poor) {
        poor_table = *n->backend->table;
        poor_table.supports = lacks_masks;
        n->backend->table = &poor_table;
    }
    CU_ASSERT_EQUAL_FATAL(graph_fuse_convolutions(&n->graph, n->backend, &err), 0);
}

static int count(const struct net *n, enum op_kind kind) {
    int found = 0;
    for (int i = 0; i < n->graph.op_count; i++)
        found += n->graph.ops[i].kind == kind;
    return found;
}

/* Returns the first operator of KIND, which must exist. */
static const struct op *find(const struct net *n, enum op_kind kind) {
    for (int i = 0; i < n->graph.op_count; i++)
        if (n->graph.ops[i].kind == kind)
            return &n->graph.ops[i];
    CU_FAIL_FATAL("no such operator");
    return NULL;
}

static void end(struct net *n) {
    graph_done(&n->graph);
    backend_close(n->backend);
}

/* The data gradient of the second layer masks by the first one's output and sums for its bias. The
 * last layer's own mask and bias stay, as no convolution follows it. */
static void a_bias_gets_its_gradient_from_the_data_gradient_behind_it(void) {
    struct net n;
    begin(&n);
    int first = layer(&n, n.image, false, TENSOR_NONE, true);
    int bias = n.graph.ops[0].inputs[AFFINE_BIAS];
    rewrite(&n, layer(&n, first, false, TENSOR_NONE, true), false);
    const struct op *data = find(&n, OP_CONV2D_GRAD_DATA_AFFINE);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_Y], first);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_SHORTCUT], TENSOR_NONE);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_GAMMA], TENSOR_NONE);
    CU_ASSERT_EQUAL(n.graph.tensors[data->outputs[AFFINE_GRAD_DBIAS]].parameter, bias);
    CU_ASSERT_EQUAL(&n.graph.ops[n.graph.tensors[data->outputs[AFFINE_GRAD_DBIAS]].producer], data);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_DATA), 0);
    CU_ASSERT_EQUAL(count(&n, OP_RELU_GRAD), 1); /* after the pool */
    CU_ASSERT_EQUAL(count(&n, OP_BIAS_GRAD), 1);
    end(&n);
}

/* Only the first layer has counted rows; in the layer after it all rows count. */
static void what_is_fused_has_the_rows_of_the_mask(void) {
    struct net n;
    begin(&n);
    int rows = n.graph.rows = parameter(&n, "rows", shape_1(1), TENSOR_INPUT);
    n.graph.tensors[rows].dtype = DTYPE_I32;
    int first = layer(&n, n.image, false, TENSOR_NONE, true);
    n.graph.rows = TENSOR_NONE;
    rewrite(&n, layer(&n, first, false, TENSOR_NONE, true), false);
    CU_ASSERT_EQUAL(find(&n, OP_CONV2D_GRAD_DATA_AFFINE)->rows, rows);
    end(&n);
}

/* Both gradients read the gradient of the norm's output unscaled, and gamma and variance with
 * it. */
static void a_norms_scale_goes_into_both_gradients_of_its_convolution(void) {
    struct net n;
    begin(&n);
    int first = layer(&n, n.image, true, TENSOR_NONE, true);
    rewrite(&n, layer(&n, first, true, TENSOR_NONE, true), false);
    const struct op *data = find(&n, OP_CONV2D_GRAD_DATA_AFFINE);
    const struct op *behind = &n.graph.ops[1], *weight = find(&n, OP_CONV2D_GRAD_WEIGHT_AFFINE);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_Y], first);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_GAMMA], behind->inputs[AFFINE_GAMMA]);
    CU_ASSERT_EQUAL(data->inputs[AFFINE_GRAD_VARIANCE], behind->inputs[AFFINE_VARIANCE]);
    CU_ASSERT_EQUAL(data->outputs[AFFINE_GRAD_DBIAS], TENSOR_NONE);
    CU_ASSERT_EQUAL(weight->inputs[2], behind->inputs[AFFINE_GAMMA]);
    CU_ASSERT_EQUAL(weight->inputs[3], behind->inputs[AFFINE_VARIANCE]);
    CU_ASSERT_EQUAL(weight->inputs[0], data->inputs[AFFINE_GRAD_DY]);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_WEIGHT_AFFINE), 2);
    CU_ASSERT_EQUAL(count(&n, OP_FROZEN_NORM_GRAD), 0);
    end(&n);
}

/* A block with its shortcut: what the join's side gets is the masked gradient, and comes back as
 * what the first convolution's data gradient adds. */
static void a_shortcut_is_added_where_the_mask_is(void) {
    struct net n;
    begin(&n);
    int in = layer(&n, n.image, true, TENSOR_NONE, true);
    int middle = layer(&n, in, true, TENSOR_NONE, true);
    rewrite(&n, layer(&n, middle, true, in, true), false);
    int shortcuts = 0;
    for (int i = 0; i < n.graph.op_count; i++) {
        const struct op *op = &n.graph.ops[i];
        if (op->kind != OP_CONV2D_GRAD_DATA_AFFINE ||
            op->inputs[AFFINE_GRAD_SHORTCUT] == TENSOR_NONE)
            continue;
        shortcuts++;
        CU_ASSERT_EQUAL(op->inputs[AFFINE_GRAD_Y], in);
        CU_ASSERT_EQUAL(
            n.graph.ops[n.graph.tensors[op->inputs[AFFINE_GRAD_SHORTCUT]].producer].kind,
            OP_RELU_GRAD);
    }
    CU_ASSERT_EQUAL(shortcuts, 1);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_DATA_AFFINE), 2);
    CU_ASSERT_EQUAL(count(&n, OP_ADD), 0);
    CU_ASSERT_EQUAL(count(&n, OP_FROZEN_NORM_GRAD), 0);
    end(&n);
}

/* What goes into a sum without a ReLU has no mask, and what reads it takes the sum's gradient. */
static void a_projection_reads_the_gradient_of_the_join(void) {
    struct net n;
    begin(&n);
    int in = layer(&n, n.image, true, TENSOR_NONE, true);
    int side = layer(&n, in, true, TENSOR_NONE, false);
    rewrite(&n, layer(&n, in, true, side, true), false);
    CU_ASSERT_EQUAL(count(&n, OP_FROZEN_NORM_GRAD), 0);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_WEIGHT_AFFINE), 3);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_DATA_AFFINE), 2);
    int masked = 0;
    for (int i = 0; i < n.graph.op_count; i++)
        masked += n.graph.ops[i].kind == OP_CONV2D_GRAD_DATA_AFFINE &&
                  n.graph.ops[i].inputs[AFFINE_GRAD_Y] == in;
    CU_ASSERT_EQUAL(masked, 1);
    end(&n);
}

/* Without a mask what the side gets is no result of its own: the norm's gradient stays whole. */
static void a_sum_without_a_relu_keeps_the_norms_gradient(void) {
    struct net n;
    begin(&n);
    int in = layer(&n, n.image, true, TENSOR_NONE, true);
    rewrite(&n, layer(&n, in, true, in, false), false);
    CU_ASSERT_EQUAL(count(&n, OP_FROZEN_NORM_GRAD), 1);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_WEIGHT_AFFINE), 1); /* of the first layer */
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_WEIGHT), 1);
    end(&n);
}

static void a_backend_without_it_keeps_mask_and_sum(void) {
    struct net n;
    begin(&n);
    int first = layer(&n, n.image, false, TENSOR_NONE, true);
    rewrite(&n, layer(&n, first, false, TENSOR_NONE, true), true);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_DATA_AFFINE), 0);
    CU_ASSERT_EQUAL(count(&n, OP_CONV2D_GRAD_DATA), 1);
    CU_ASSERT_EQUAL(count(&n, OP_RELU_GRAD), 2);
    CU_ASSERT_EQUAL(count(&n, OP_BIAS_GRAD), 2);
    end(&n);
}

UNIT_SUITE("graph.fuse_affine_grad",
           UNIT(a_bias_gets_its_gradient_from_the_data_gradient_behind_it),
           UNIT(what_is_fused_has_the_rows_of_the_mask),
           UNIT(a_norms_scale_goes_into_both_gradients_of_its_convolution),
           UNIT(a_shortcut_is_added_where_the_mask_is),
           UNIT(a_projection_reads_the_gradient_of_the_join),
           UNIT(a_sum_without_a_relu_keeps_the_norms_gradient),
           UNIT(a_backend_without_it_keeps_mask_and_sum))
