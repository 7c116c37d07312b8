#include "tests/ops/harness.h"

#include "tests/support/unit.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/op_roi.h"
#include "trainer/graph/rules/op_table.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double value_get(const void *values, enum dtype type, int64_t i) {
    switch (type) {
    case DTYPE_F32:
        return (double)((const float *)values)[i];
    case DTYPE_BF16:
        return (double)bf16_to_f32(((const uint16_t *)values)[i]);
    case DTYPE_F16:
        return (double)f16_to_f32(((const uint16_t *)values)[i]);
    case DTYPE_F64:
        return ((const double *)values)[i];
    case DTYPE_U8:
        return ((const uint8_t *)values)[i];
    case DTYPE_I32:
        return ((const int32_t *)values)[i];
    default:
        CU_FAIL_FATAL("no such type");
        return 0;
    }
}

void value_set(void *values, enum dtype type, int64_t i, double value) {
    switch (type) {
    case DTYPE_F32:
        ((float *)values)[i] = (float)value;
        break;
    case DTYPE_BF16:
        ((uint16_t *)values)[i] = bf16_from_f32((float)value);
        break;
    case DTYPE_F16:
        ((uint16_t *)values)[i] = f16_from_f32((float)value);
        break;
    case DTYPE_F64:
        ((double *)values)[i] = value;
        break;
    case DTYPE_U8:
        ((uint8_t *)values)[i] = (uint8_t)value;
        break;
    case DTYPE_I32:
        ((int32_t *)values)[i] = (int32_t)value;
        break;
    default:
        CU_FAIL_FATAL("no such type");
    }
}

/* --- the graph of a row ----------------------------------------------------------------------- */

int op_graph_input(struct op_graph *g, enum dtype dtype, struct shape shape, enum fill fill) {
    struct error err = {0};
    int tensor = graph_tensor(&g->graph, "input", dtype, shape, TENSOR_INPUT, &err);
    CU_ASSERT_FATAL(tensor >= 0 && tensor < CASE_TENSORS_MAX);
    g->fill[tensor] = fill;
    return tensor;
}

void *op_graph_values(struct op_graph *g, int tensor) {
    g->value[tensor] = calloc(1, tensor_bytes(&g->graph.tensors[tensor]));
    CU_ASSERT_PTR_NOT_NULL_FATAL(g->value[tensor]);
    return g->value[tensor];
}

static bool is_norm(enum op_kind kind) {
    return kind == OP_BATCH_NORM || kind == OP_BATCH_NORM_INFERENCE;
}

static void norm_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum norm_form form = g->row->attr.form;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    struct shape channels = shape_1(g->row->x.dim[3]);
    bool dual = form == NORM_DUAL_ADD_RELU, add = form == NORM_ADD_RELU;
    for (int side = 0; side < (dual ? 2 : 1); side++) {
        int first = side == 0 ? NORM_X : NORM_SIDE;
        inputs[first] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
        inputs[first + NORM_GAMMA] = op_graph_input(g, wide, channels, FILL_GAMMA);
        inputs[first + NORM_BETA] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[first + NORM_MEAN] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[first + NORM_VARIANCE] = op_graph_input(g, wide, channels, FILL_POSITIVE);
    }
    if (add)
        inputs[NORM_SIDE] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
}

/* The operators of FUSION_CONV on x, including those after the convolution. */
static bool is_fused_forward(enum op_kind kind) {
    return kind >= OP_CONV2D_STATS && kind <= OP_DUAL_JOIN_APPLY_RELU && kind != OP_NORM_FINALIZE;
}

struct shape op_case_weights(const struct op_case *row) {
    const struct op_window *w = &row->attr.window;
    int64_t channels = row->weight_inputs == 0 ? row->x.dim[3] : row->weight_inputs;
    return shape_4(row->outputs, op_window_kernel(w, 0), op_window_kernel(w, 1),
                   channels / op_window_groups(w));
}

struct shape op_case_output(const struct op_case *row) {
    const struct op_window *w = &row->attr.window;
    int64_t side[2];
    for (int i = 0; i < 2; i++)
        side[i] =
            (row->x.dim[1 + i] + 2 * op_window_pad(w, i) - op_window_kernel(w, i)) / w->stride + 1;
    return shape_4(row->x.dim[0], side[0], side[1], row->outputs);
}

static void fused_forward_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum op_kind kind = g->row->kind;
    enum dtype dtype = g->graph.dtype;
    struct shape channels = shape_1(g->row->x.dim[3]);
    bool dual = kind == OP_DUAL_JOIN_CONV2D_STATS || kind == OP_DUAL_JOIN_APPLY_RELU;
    inputs[FUSED_CONV_X] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    if (kind < OP_NORM_FINALIZE)
        inputs[FUSED_CONV_W] =
            op_graph_input(g, dtype_wide(dtype), op_case_weights(g->row), FILL_WEIGHT);
    for (int i = FUSED_CONV_SCALE; i <= FUSED_CONV_BIAS && kind != OP_CONV2D_STATS; i++)
        inputs[i] = op_graph_input(g, dtype, channels, FILL_GAMMA);
    if (dual || kind == OP_JOIN_CONV2D_STATS || kind == OP_JOIN_APPLY_RELU)
        inputs[FUSED_CONV_SIDE] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    for (int i = FUSED_CONV_SCALE2; i <= FUSED_CONV_BIAS2 && dual; i++)
        inputs[i] = op_graph_input(g, dtype, channels, FILL_GAMMA);
}

static void grad_data_norm_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum op_kind kind = g->row->kind;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    struct shape channels = shape_1(g->row->x.dim[3]);
    bool dual = kind == OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN;
    inputs[GRAD_DATA_NORM_DY] = op_graph_input(g, dtype, op_case_output(g->row), FILL_NORMAL);
    inputs[GRAD_DATA_NORM_W] = op_graph_input(g, wide, op_case_weights(g->row), FILL_WEIGHT);
    if (kind != OP_CONV2D_GRAD_DATA_NORM)
        inputs[GRAD_DATA_NORM_SHORTCUT] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    if (dual || kind == OP_CONV2D_GRAD_DATA_ADD_JOIN)
        inputs[GRAD_DATA_NORM_SIDE] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    inputs[GRAD_DATA_NORM_X] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    for (int i = 0; i < (dual ? 2 : 1); i++) {
        int slot = i == 0 ? GRAD_DATA_NORM_GAMMA : GRAD_DATA_NORM_GAMMA2;
        inputs[slot] = op_graph_input(g, wide, channels, FILL_GAMMA);
        inputs[slot + 1] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[slot + 2] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[slot + 3] = op_graph_input(g, wide, channels, FILL_POSITIVE);
    }
}

static void backward_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum op_kind kind = g->row->kind;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    struct shape channels = shape_1(g->row->x.dim[3]);
    inputs[CONV_BACKWARD_G] = op_graph_input(g, dtype, op_case_output(g->row), FILL_NORMAL);
    inputs[CONV_BACKWARD_Z] = op_graph_input(g, dtype, op_case_output(g->row), FILL_NORMAL);
    inputs[CONV_BACKWARD_COEFFICIENTS] =
        op_graph_input(g, wide, shape_2(3, g->row->outputs), FILL_NORMAL);
    inputs[CONV_BACKWARD_W] = op_graph_input(g, wide, op_case_weights(g->row), FILL_WEIGHT);
    if (kind != OP_CONV2D_BACKWARD_NORM)
        inputs[CONV_BACKWARD_Y] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    if (kind == OP_CONV2D_BACKWARD)
        return;
    inputs[CONV_BACKWARD_X] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
    inputs[CONV_BACKWARD_GAMMA] = op_graph_input(g, wide, channels, FILL_GAMMA);
    inputs[CONV_BACKWARD_MEAN] = op_graph_input(g, wide, channels, FILL_NORMAL);
    inputs[CONV_BACKWARD_INVSTD] = op_graph_input(g, wide, channels, FILL_POSITIVE);
    if (kind == OP_CONV2D_BACKWARD_JOIN) {
        inputs[CONV_BACKWARD_SHORTCUT] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
        return;
    }
    inputs[CONV_BACKWARD_SCALE] = op_graph_input(g, dtype, channels, FILL_GAMMA);
    inputs[CONV_BACKWARD_BIAS] = op_graph_input(g, dtype, channels, FILL_NORMAL);
    inputs[CONV_BACKWARD_BETA] = op_graph_input(g, wide, channels, FILL_NORMAL);
}

/* Whether KIND is one of the rest of FUSION_CONV; then makes its inputs. */
static bool fused_rest_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    struct shape channels = shape_1(g->row->x.dim[3]);
    switch (g->row->kind) {
    case OP_NORM_FINALIZE:
        for (int i = 0; i < NORM_FINALIZE_INPUTS; i++)
            inputs[i] = op_graph_input(g, wide, channels, FILL_POSITIVE);
        g->fill[inputs[NORM_FINALIZE_SUM]] = FILL_SUM;
        g->fill[inputs[NORM_FINALIZE_SQUARE_SUM]] = FILL_SQUARE_SUM;
        return true;
    case OP_NORM_CONV2D_GRAD_WEIGHT:
        inputs[0] = op_graph_input(g, dtype, op_case_output(g->row), FILL_NORMAL);
        inputs[1] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
        inputs[2] = op_graph_input(g, dtype, channels, FILL_GAMMA);
        inputs[3] = op_graph_input(g, dtype, channels, FILL_NORMAL);
        return true;
    case OP_NORM_GRAD_APPLY:
        inputs[0] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
        inputs[1] = op_graph_input(g, dtype, g->row->x, FILL_NORMAL);
        inputs[2] = op_graph_input(g, wide, shape_2(3, g->row->x.dim[3]), FILL_NORMAL);
        return true;
    case OP_CONV2D_BACKWARD:
    case OP_CONV2D_BACKWARD_NORM:
    case OP_CONV2D_BACKWARD_JOIN:
        backward_inputs(g, inputs);
        return true;
    default:
        return false;
    }
}

/* Samples of one seed. */
static int keys(struct op_graph *g, int64_t samples) {
    int tensor = op_graph_input(g, DTYPE_I32, shape_2(samples, SAMPLE_KEY_WORDS), FILL_GIVEN);
    int32_t *key = op_graph_values(g, tensor);
    for (int64_t n = 0; n < samples; n++) {
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SEED_LOW] = 17;
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SAMPLE] = (int32_t)n;
    }
    return tensor;
}

static void make_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct op_case *row = g->row;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    int64_t last = row->x.dim[row->x.rank - 1];
    if (row->make != NULL) {
        row->make(g, inputs);
        return;
    }
    if (is_norm(row->kind)) {
        norm_inputs(g, inputs);
        return;
    }
    if (is_fused_forward(row->kind)) {
        fused_forward_inputs(g, inputs);
        return;
    }
    if (row->kind >= OP_CONV2D_GRAD_DATA_NORM && row->kind <= OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN) {
        grad_data_norm_inputs(g, inputs);
        return;
    }
    if (fused_rest_inputs(g, inputs))
        return;
    if (row->kind == OP_SOFTMAX_CROSS_ENTROPY) {
        inputs[0] = op_graph_input(g, wide, row->x, FILL_NORMAL);
        inputs[1] = op_graph_input(g, DTYPE_I32, shape_1(row->x.dim[0]), FILL_LABELS);
        inputs[2] = op_graph_input(g, DTYPE_F32, shape_1(row->x.dim[0]), FILL_SAMPLE_WEIGHT);
        return;
    }
    bool image = row->kind == OP_IMAGE_NORMALIZE;
    if (row->wide)
        dtype = wide;
    inputs[0] =
        op_graph_input(g, image ? DTYPE_U8 : dtype, row->x, image ? FILL_BYTES : FILL_NORMAL);
    if (row->kind == OP_ADD || row->kind == OP_ADD_RELU)
        inputs[1] = op_graph_input(g, dtype, row->x, FILL_NORMAL);
    if (row->kind == OP_BIAS)
        inputs[1] = op_graph_input(g, wide, shape_1(last), FILL_NORMAL);
    if (row->kind == OP_DROPOUT)
        inputs[1] = keys(g, row->x.dim[0]);
    if (row->kind == OP_UPSAMPLE_ADD)
        inputs[1] = op_graph_input(
            g, dtype, shape_4(row->x.dim[0], row->x.dim[1] / 2, row->x.dim[2] / 2, last),
            FILL_NORMAL);
    if (row->kind == OP_CONV2D)
        inputs[1] = op_graph_input(g, wide, op_case_weights(row), FILL_WEIGHT);
    if (row->kind == OP_LINEAR) {
        inputs[1] = op_graph_input(g, wide, shape_2(row->outputs, last), FILL_WEIGHT);
        inputs[2] = op_graph_input(g, wide, shape_1(row->outputs), FILL_NORMAL);
    }
}

static bool has_gradient(enum op_kind kind) {
    return gradient_rule(kind) != NULL && kind != OP_ADD;
}

/* Adds the gradient operators by the table's rule, from seeds instead of a loss. */
static void add_gradients(struct op_graph *g) {
    struct graph *graph = &g->graph;
    struct error err = {0};
    int output = graph->ops[0].outputs[0];
    if (g->row->kind != OP_SOFTMAX_CROSS_ENTROPY && g->row->losses == 0) {
        /* What flows back into a linear layer has the type of activations. */
        struct shape shape = graph->tensors[output].shape;
        g->seeds[0] = op_graph_input(g, graph->dtype, shape, FILL_NORMAL);
        graph->gradient[output] = g->seeds[0];
        if (g->row->two_gradients)
            g->seeds[1] = op_graph_input(g, graph->dtype, shape, FILL_NORMAL);
    }
    for (int l = 0; l < g->row->attr.detect.levels && g->row->sent; l++) {
        int map = graph->ops[0].inputs[ROI_ALIGN_MAP + l];
        graph->gradient[map] =
            op_graph_input(g, graph->dtype, graph->tensors[map].shape, FILL_NORMAL);
    }
    CU_ASSERT_EQUAL_FATAL(gradient_rule(g->row->kind)(graph, 0, &err), 0);
    for (int i = 1; i < graph->op_count; i++) {
        graph->ops[i].forward = 0;
        if (g->row->two_gradients)
            graph->ops[i].inputs[NORM_GRAD_DY2] = g->seeds[1];
    }
    CU_ASSERT_FATAL(graph->tensor_count <= CASE_TENSORS_MAX);
}

/* --- values ----------------------------------------------------------------------------------- */

/* How many values a channel of x has. */
static double row_count(const struct op_graph *g) {
    return (double)(shape_count(&g->row->x) / g->row->x.dim[g->row->x.rank - 1]);
}

/* Whether a gradient arrives at value I of an output: at pixels on both sides of tiles' edges, and
 * at the last one. */
static bool is_met(const struct op_graph *g, const struct shape *shape, int64_t i) {
    int64_t pixel = i / shape->dim[3], row = pixel / shape->dim[2] % shape->dim[1];
    int64_t column = pixel % shape->dim[2], last = shape_count(shape) / shape->dim[3] - 1;
    if (g->row->special == SPECIAL_ZERO)
        return false;
    return pixel == last || (row == 7 && column == 12) || (row == 12 && column == 3);
}

/* A row's special values: NaN in a quarter of the channels (others for gradients that arrive),
 * infinities in all others, one of minus infinity alone. */
static double special_value(const struct op_graph *g, int tensor, int64_t i, double value) {
    const struct shape *shape = &g->graph.tensors[tensor].shape;
    bool seed = tensor == g->seeds[0] || tensor == g->seeds[1];
    int64_t c = i % shape->dim[shape->rank - 1], turn = i * 7919 % 5;
    bool plain = shape->rank < 2 || g->fill[tensor] != FILL_NORMAL;
    if (!plain && g->row->outlier != 0 && !seed && i < shape->dim[shape->rank - 1])
        return g->row->outlier;
    if (plain || g->row->special == SPECIAL_NONE)
        return value;
    if (g->row->special == SPECIAL_SPARSE || g->row->special == SPECIAL_ZERO)
        return seed && !is_met(g, shape, i) ? (i % 3 == 0 ? -0.0 : 0) : value;
    if (turn == 0 && c % 4 == (seed ? 2 : 1))
        return NAN;
    if (g->row->special == SPECIAL_NAN || seed)
        return value;
    return c == 0 || turn == 2 ? -INFINITY : turn == 1 ? INFINITY : value;
}

static double fill_value(const struct op_graph *g, int tensor, int64_t i, struct random *random) {
    const struct shape *shape = &g->graph.tensors[tensor].shape;
    double sign = random_below(random, 2) == 0 ? -1 : 1;
    switch (g->fill[tensor]) {
    case FILL_NORMAL:
        return random_normal(random);
    case FILL_WEIGHT: {
        double value = random_normal(random) / sqrt((double)(shape_count(shape) / shape->dim[0]));
        if (g->graph.dtype == DTYPE_BF16)
            value = (double)bf16_to_f32(bf16_from_f32((float)value));
        if (g->graph.dtype == DTYPE_F16)
            value = (double)f16_to_f32(f16_from_f32((float)value));
        return value;
    }
    case FILL_GAMMA:
        return sign * random_between(random, 0.5, 1.5);
    case FILL_POSITIVE:
        return random_between(random, 0.5, 1.5);
    case FILL_SUM:
        return row_count(g) * random_between(random, -0.5, 0.5);
    case FILL_SQUARE_SUM:
        return row_count(g) * random_between(random, 1, 2);
    case FILL_BYTES:
        return random_below(random, 256);
    case FILL_LABELS:
        return i == 1 ? -1.0 : (double)random_below(random, (uint32_t)g->row->x.dim[1]);
    case FILL_SAMPLE_WEIGHT:
        return i == 1 ? 0 : i == 2 ? 0.5 : 1;
    case FILL_NONE:
    case FILL_GIVEN:
        break;
    }
    return 0;
}

static void fill_values(struct op_graph *g) {
    for (int t = 0; t < g->graph.tensor_count; t++) {
        const struct tensor *tensor = &g->graph.tensors[t];
        struct random random = random_stream(11, 0, (uint64_t)t);
        if (g->fill[t] == FILL_GIVEN)
            continue;
        (void)op_graph_values(g, t);
        for (int64_t i = 0; g->fill[t] != FILL_NONE && i < tensor_count(tensor); i++)
            value_set(g->value[t], tensor->dtype, i,
                      special_value(g, t, i, fill_value(g, t, i, &random)));
    }
}

void op_graph_describe(struct op_graph *g, const struct op_case *row, enum dtype dtype) {
    bool inference = row->inference || row->kind == OP_BATCH_NORM_INFERENCE;
    *g = (struct op_graph){.row = row, .seeds = {TENSOR_NONE, TENSOR_NONE}};
    graph_init(&g->graph, dtype, !inference);
    int inputs[OP_INPUTS_MAX];
    struct error err = {0};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    make_inputs(g, inputs);
    struct op_attr attr = row->attr;
    if (row->kind >= OP_CONV2D_STATS && attr.target.rank == 0)
        attr.target =
            row->kind == OP_NORM_CONV2D_GRAD_WEIGHT || row->kind == OP_CONV2D_GRAD_WEIGHT_AFFINE
                ? op_case_weights(row)
                : row->x;
    int op = graph_append(&g->graph, row->kind, row->name, inputs, &attr, &err);
    if (op < 0)
        CU_FAIL_FATAL("a row of the table describes no operator");
    if (has_gradient(row->kind) && !row->inference)
        add_gradients(g);
}

void op_graph_init(struct op_graph *g, const struct op_case *row, enum dtype dtype) {
    op_graph_describe(g, row, dtype);
    fill_values(g);
}

void op_graph_done(struct op_graph *g) {
    for (int i = 0; i < CASE_TENSORS_MAX; i++)
        free(g->value[i]);
    free(g->saved);
    graph_done(&g->graph);
    *g = (struct op_graph){0};
}
