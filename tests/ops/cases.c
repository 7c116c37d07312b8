#include "tests/ops/case_row.h"
#include "tests/ops/harness.h"
#include <stdio.h>
#include <string.h>

#define NORM .attr = {.epsilon = 1e-5, .momentum = 0.1}
#define NORM_AS(how) .attr = {.epsilon = 1e-5, .momentum = 0.1, .form = (how)}
#define NORM_POOL(k, s, p)                                                                         \
    .attr = {.epsilon = 1e-5,                                                                      \
             .momentum = 0.1,                                                                      \
             .form = NORM_RELU_MAX_POOL,                                                           \
             .window = {.kernel = k, .stride = s, .pad = p}}
#define LOSS(smoothing, scale) .attr = {.label_smoothing = smoothing, .gradient_scale = scale}
#define TRANSPOSED(n, h, w, c)                                                                     \
    .attr = {.window = {.kernel = 2, .stride = 2}, .target = {.rank = 4, .dim = {n, h, w, c}}}
#define AFFINE(k, s, p, rectified)                                                                 \
    .attr = {.epsilon = 1e-5, .relu = rectified, .window = {.kernel = k, .stride = s, .pad = p}}
#define AFFINE_GRAD(k, s, p, sums)                                                                 \
    .attr = {.epsilon = 1e-5, .side = sums, .window = {.kernel = k, .stride = s, .pad = p}}
#define IMAGE(c)                                                                                   \
    .attr = {.mean = {0.485f, 0.456f, 0.406f}, .std = {0.229f, 0.224f, 0.225f}, .channels = c}

/* Its weights' rows are x's channels, each with what it sends to the channels of y. */
static void make_transposed(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct op_case *row = g->row;
    struct shape w = shape_4(row->x.dim[3], row->attr.window.kernel, row->attr.window.kernel,
                             row->attr.target.dim[3]);
    inputs[0] = op_graph_input(g, g->graph.dtype, row->x, FILL_NORMAL);
    inputs[1] = op_graph_input(g, dtype_wide(g->graph.dtype), w, FILL_WEIGHT);
}

/* The inputs of a convolution followed by a bias or a norm, and of what is added to its result. */
static void affine_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX], bool norm, bool side) {
    const struct op_case *row = g->row;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    struct shape channels = shape_1(row->outputs), y = op_case_output(row);
    inputs[AFFINE_X] = op_graph_input(g, dtype, row->x, FILL_NORMAL);
    inputs[AFFINE_W] = op_graph_input(g, wide, op_case_weights(row), FILL_WEIGHT);
    if (norm) {
        inputs[AFFINE_GAMMA] = op_graph_input(g, wide, channels, FILL_GAMMA);
        inputs[AFFINE_BETA] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[AFFINE_MEAN] = op_graph_input(g, wide, channels, FILL_NORMAL);
        inputs[AFFINE_VARIANCE] = op_graph_input(g, wide, channels, FILL_POSITIVE);
    } else {
        inputs[AFFINE_BIAS] = op_graph_input(g, wide, channels, FILL_NORMAL);
    }
    if (side)
        inputs[AFFINE_SIDE] = op_graph_input(g, dtype, y, FILL_NORMAL);
}

static void make_affine(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_inputs(g, inputs, false, false);
}

static void make_affine_add(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_inputs(g, inputs, false, true);
}

static void make_affine_norm(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_inputs(g, inputs, true, false);
}

static void make_affine_join(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_inputs(g, inputs, true, true);
}

/* The gradients of such a convolution. */
static void affine_grad_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX], bool norm, bool mask,
                               bool shortcut) {
    const struct op_case *row = g->row;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    inputs[AFFINE_GRAD_DY] = op_graph_input(g, dtype, op_case_output(row), FILL_NORMAL);
    inputs[AFFINE_GRAD_W] = op_graph_input(g, wide, op_case_weights(row), FILL_WEIGHT);
    if (norm) {
        inputs[AFFINE_GRAD_GAMMA] = op_graph_input(g, wide, shape_1(row->outputs), FILL_GAMMA);
        inputs[AFFINE_GRAD_VARIANCE] =
            op_graph_input(g, wide, shape_1(row->outputs), FILL_POSITIVE);
    }
    if (mask)
        inputs[AFFINE_GRAD_Y] = op_graph_input(g, dtype, row->x, FILL_NORMAL);
    if (shortcut)
        inputs[AFFINE_GRAD_SHORTCUT] = op_graph_input(g, dtype, row->x, FILL_NORMAL);
}

static void make_grad_scaled(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_grad_inputs(g, inputs, true, false, false);
}

static void make_grad_masked(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_grad_inputs(g, inputs, false, true, false);
}

static void make_grad_scaled_masked(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_grad_inputs(g, inputs, true, true, false);
}

static void make_grad_shortcut(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_grad_inputs(g, inputs, true, true, true);
}

static void make_grad_weight_scaled(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct op_case *row = g->row;
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    inputs[0] = op_graph_input(g, dtype, op_case_output(row), FILL_NORMAL);
    inputs[1] = op_graph_input(g, dtype, row->x, FILL_NORMAL);
    inputs[2] = op_graph_input(g, wide, shape_1(row->outputs), FILL_GAMMA);
    inputs[3] = op_graph_input(g, wide, shape_1(row->outputs), FILL_POSITIVE);
}

/* A row of weights for a whole picture. */
static void make_flat(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct op_case *row = g->row;
    enum dtype wide = dtype_wide(g->graph.dtype);
    struct shape w = shape_4(row->outputs, row->x.dim[1], row->x.dim[2], row->x.dim[3]);
    inputs[0] = op_graph_input(g, g->graph.dtype, row->x, FILL_NORMAL);
    inputs[1] = op_graph_input(g, wide, w, FILL_WEIGHT);
    inputs[2] = op_graph_input(g, wide, shape_1(row->outputs), FILL_NORMAL);
}

static const struct op_case rows[] = {
    {"image 3 channels", OP_IMAGE_NORMALIZE, X(2, 5, 7, 3), IMAGE(3)},
    {"image padded to 4", OP_IMAGE_NORMALIZE, X(2, 5, 7, 3), IMAGE(4)},
    {"image 224", OP_IMAGE_NORMALIZE, X(1, 224, 224, 3), IMAGE(3)},

    {"conv 1x1 tiny", OP_CONV2D, X(2, 3, 4, 3), 5, WINDOW(1, 1, 0), .differentiate = true},
    {"conv 3x3 tiny", OP_CONV2D, X(2, 4, 5, 3), 4, WINDOW(3, 1, 1), .differentiate = true},
    {"conv 3x3 stride 2 tiny", OP_CONV2D, X(2, 5, 6, 2), 3, WINDOW(3, 2, 1), .differentiate = true},
    {"conv 1x1 stride 2 tiny", OP_CONV2D, X(1, 5, 5, 3), 4, WINDOW(1, 2, 0), .differentiate = true},
    {"conv 7x7 stride 2 tiny", OP_CONV2D, X(1, 9, 8, 3), 2, WINDOW(7, 2, 3), .differentiate = true},
    {"conv 3x3 without padding", OP_CONV2D, X(1, 5, 5, 2), 3, WINDOW(3, 1, 0),
     .differentiate = true},
    {"conv of a padded image", OP_CONV2D, X(1, 6, 6, 4), 3, 3, WINDOW(3, 2, 1),
     .differentiate = true},
    {"conv stem of resnet50", OP_CONV2D, X(2, 32, 32, 3), 64, WINDOW(7, 2, 3)},
    {"conv stem of resnet20", OP_CONV2D, X(2, 16, 16, 3), 16, WINDOW(3, 1, 1)},
    {"conv 1x1 64 to 256", OP_CONV2D, X(2, 14, 14, 64), 256, WINDOW(1, 1, 0)},
    {"conv 1x1 256 to 64", OP_CONV2D, X(2, 14, 14, 256), 64, WINDOW(1, 1, 0)},
    {"conv 3x3 64", OP_CONV2D, X(2, 14, 14, 64), 64, WINDOW(3, 1, 1)},
    {"conv 3x3 128 stride 2", OP_CONV2D, X(2, 14, 14, 128), 128, WINDOW(3, 2, 1)},
    {"conv 1x1 stride 2 projection", OP_CONV2D, X(2, 14, 14, 128), 256, WINDOW(1, 2, 0)},
    {"conv 3x3 512 at 7", OP_CONV2D, X(1, 7, 7, 256), 256, WINDOW(3, 1, 1)},
    {"conv 3x3 odd picture", OP_CONV2D, X(3, 9, 5, 96), 128, WINDOW(3, 1, 1)},
    {"conv odd channels", OP_CONV2D, X(3, 9, 11, 17), 23, WINDOW(3, 2, 1)},
    {"conv one pixel", OP_CONV2D, X(2, 1, 1, 32), 48, WINDOW(3, 1, 1)},

    {"conv 3x3 many tiles", OP_CONV2D, X(1, 66, 67, 16), 32, WINDOW(3, 1, 1)},
    {"conv 3x3 16 without padding", OP_CONV2D, X(2, 7, 9, 48), 32, WINDOW(3, 1, 0)},
    {"conv 3x3 few gradients", OP_CONV2D, X(2, 33, 30, 32), 48, WINDOW(3, 1, 1),
     .special = SPECIAL_SPARSE},
    {"conv 3x3 few gradients without padding", OP_CONV2D, X(1, 23, 42, 16), 32, WINDOW(3, 1, 0),
     .special = SPECIAL_SPARSE},
    {"conv 3x3 few gradients of many", OP_CONV2D, X(1, 27, 27, 304), 256, WINDOW(3, 1, 1),
     .special = SPECIAL_SPARSE},
    {"conv 3x3 no gradients", OP_CONV2D, X(1, 18, 17, 16), 32, WINDOW(3, 1, 1),
     .special = SPECIAL_ZERO},
    {"conv 3x3 one output pixel", OP_CONV2D, X(1, 3, 3, 16), 16, WINDOW(3, 1, 0)},
    {"conv 3x3 half vectors of many", OP_CONV2D, X(1, 27, 25, 144), 176, WINDOW(3, 1, 1)},
    {"conv 3x3 many inputs and images", OP_CONV2D, X(200, 1, 1, 640), 192, WINDOW(3, 1, 1)},
    {"conv 1x1 one pixel", OP_CONV2D, X(1, 1, 1, 64), 144, WINDOW(1, 1, 0)},
    {"conv 3x3 stride 2 few pixels", OP_CONV2D, X(1, 4, 4, 32), 48, WINDOW(3, 2, 1)},
    {"conv 1x1 deep", OP_CONV2D, X(1, 5, 9, 528), 80, WINDOW(1, 1, 0)},
    {"conv 1x1 many pixels", OP_CONV2D, X(2, 41, 30, 16), 32, WINDOW(1, 1, 0)},
    {"conv 3x3 stride 2 odd picture", OP_CONV2D, X(3, 9, 14, 48), 80, WINDOW(3, 2, 1)},
    {"conv 1x1 stride 2 odd picture", OP_CONV2D, X(2, 7, 5, 32), 48, WINDOW(1, 2, 0)},

    {"transposed conv tiny", OP_CONV2D_GRAD_DATA, X(2, 3, 2, 4), 3, TRANSPOSED(2, 6, 4, 3),
     .make = make_transposed, .differentiate = true},
    {"transposed conv", OP_CONV2D_GRAD_DATA, X(2, 7, 7, 64), 64, TRANSPOSED(2, 14, 14, 64),
     .make = make_transposed},
    {"bias tiny", OP_BIAS, X(2, 3, 4, 5), .differentiate = true},
    {"bias relu tiny", OP_BIAS, X(2, 3, 4, 5), .attr = {.relu = true}, .differentiate = true},
    {"bias relu", OP_BIAS, X(2, 28, 28, 64), .attr = {.relu = true}},
    {"bias odd channels", OP_BIAS, X(3, 5, 7, 19)},
    {"bias of a matrix", OP_BIAS, ROWS(7, 13)},
    {"dropout tiny", OP_DROPOUT, X(2, 3, 4, 5), .attr = {.rate = 0.5}, .differentiate = true},
    {"dropout of a matrix", OP_DROPOUT, ROWS(7, 13), .attr = {.rate = 0.2, .layer = 1}},
    {"dropout", OP_DROPOUT, ROWS(16, 4096), .attr = {.rate = 0.5, .layer = 255}},
    {"dropout of nothing", OP_DROPOUT, ROWS(3, 64), .attr = {.rate = 0}},
    {"dropout with NaN", OP_DROPOUT, ROWS(4, 64), .attr = {.rate = 0.5}, .special = SPECIAL_NAN},
    {"upsample add tiny", OP_UPSAMPLE_ADD, X(2, 4, 6, 5), .differentiate = true},
    {"upsample add", OP_UPSAMPLE_ADD, X(2, 14, 10, 64)},

    {"norm tiny", OP_BATCH_NORM, X(2, 3, 4, 5), NORM, .differentiate = true},
    {"norm", OP_BATCH_NORM, X(4, 14, 14, 64), NORM},
    {"norm odd channels", OP_BATCH_NORM, X(3, 5, 7, 19), NORM},
    {"norm of a long reduction", OP_BATCH_NORM, X(8, 56, 56, 16), NORM},
    {"norm two gradients", OP_BATCH_NORM, X(3, 5, 7, 32), NORM, .two_gradients = true},
    {"norm relu tiny", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_RELU), .differentiate = true},
    {"norm relu", OP_BATCH_NORM, X(4, 14, 14, 64), NORM_AS(NORM_RELU)},
    {"norm relu odd channels", OP_BATCH_NORM, X(3, 5, 7, 19), NORM_AS(NORM_RELU)},
    {"norm relu two gradients", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_RELU),
     .two_gradients = true, .differentiate = true},
    {"join tiny", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_ADD_RELU), .differentiate = true},
    {"join", OP_BATCH_NORM, X(4, 14, 14, 64), NORM_AS(NORM_ADD_RELU)},
    {"join two gradients", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_ADD_RELU),
     .two_gradients = true, .differentiate = true},
    {"join two gradients wide", OP_BATCH_NORM, X(2, 7, 7, 256), NORM_AS(NORM_ADD_RELU),
     .two_gradients = true},
    {"join odd channels", OP_BATCH_NORM, X(3, 5, 7, 19), NORM_AS(NORM_ADD_RELU),
     .two_gradients = true},
    {"dual join tiny", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_DUAL_ADD_RELU),
     .differentiate = true},
    {"dual join", OP_BATCH_NORM, X(4, 14, 14, 64), NORM_AS(NORM_DUAL_ADD_RELU)},
    {"dual join two gradients", OP_BATCH_NORM, X(2, 3, 4, 5), NORM_AS(NORM_DUAL_ADD_RELU),
     .two_gradients = true, .differentiate = true},
    {"dual join odd channels", OP_BATCH_NORM, X(3, 5, 7, 19), NORM_AS(NORM_DUAL_ADD_RELU),
     .two_gradients = true},
    {"norm relu pool tiny", OP_BATCH_NORM, X(2, 6, 5, 3), NORM_POOL(3, 2, 1),
     .differentiate = true},
    {"norm relu pool", OP_BATCH_NORM, X(2, 28, 28, 64), NORM_POOL(3, 2, 1)},
    {"norm relu pool two gradients", OP_BATCH_NORM, X(2, 9, 11, 16), NORM_POOL(3, 2, 1),
     .two_gradients = true},
    {"norm relu pool odd channels", OP_BATCH_NORM, X(2, 7, 9, 5), NORM_POOL(2, 2, 0)},

    {"frozen norm tiny", OP_BATCH_NORM_INFERENCE, X(2, 3, 4, 5), NORM, .differentiate = true},
    {"frozen norm relu tiny", OP_BATCH_NORM_INFERENCE, X(2, 3, 4, 5), NORM_AS(NORM_RELU),
     .differentiate = true},
    {"frozen join tiny", OP_BATCH_NORM_INFERENCE, X(2, 3, 4, 5), NORM_AS(NORM_ADD_RELU),
     .differentiate = true},
    {"frozen dual join tiny", OP_BATCH_NORM_INFERENCE, X(2, 3, 4, 5), NORM_AS(NORM_DUAL_ADD_RELU),
     .differentiate = true},
    {"inference norm", OP_BATCH_NORM_INFERENCE, X(3, 5, 7, 19), NORM},
    {"inference norm relu", OP_BATCH_NORM_INFERENCE, X(2, 14, 14, 64), NORM_AS(NORM_RELU)},
    {"inference join", OP_BATCH_NORM_INFERENCE, X(2, 14, 14, 64), NORM_AS(NORM_ADD_RELU)},
    {"inference dual join", OP_BATCH_NORM_INFERENCE, X(2, 14, 14, 64), NORM_AS(NORM_DUAL_ADD_RELU)},
    {"inference join odd channels", OP_BATCH_NORM_INFERENCE, X(1, 3, 5, 7), NORM_AS(NORM_ADD_RELU)},

    {"relu tiny", OP_RELU, X(2, 3, 4, 5), .differentiate = true},
    {"relu", OP_RELU, X(2, 14, 14, 64)},
    {"relu odd count", OP_RELU, ROWS(7, 13)},
    {"sigmoid tiny", OP_SIGMOID, X(2, 3, 4, 5), .differentiate = true},
    {"sigmoid", OP_SIGMOID, X(2, 14, 14, 33)},
    {"add tiny", OP_ADD, X(2, 3, 4, 5)},
    {"add", OP_ADD, X(2, 14, 14, 64)},
    {"add relu tiny", OP_ADD_RELU, X(2, 3, 4, 5), .differentiate = true},
    {"add relu", OP_ADD_RELU, X(2, 7, 7, 33)},

    {"max pool tiny", OP_MAX_POOL, X(2, 6, 5, 3), WINDOW(3, 2, 1), .differentiate = true},
    {"max pool", OP_MAX_POOL, X(2, 28, 28, 64), WINDOW(3, 2, 1)},
    {"max pool of every second pixel", OP_MAX_POOL, X(2, 5, 6, 8), WINDOW(1, 2, 0),
     .differentiate = true},
    {"max pool 2x2", OP_MAX_POOL, X(2, 7, 9, 5), WINDOW(2, 2, 0)},
    {"average pool tiny", OP_GLOBAL_AVG_POOL, X(2, 3, 4, 5), .differentiate = true},
    {"average pool", OP_GLOBAL_AVG_POOL, X(4, 7, 7, 512)},
    {"average pool of one pixel", OP_GLOBAL_AVG_POOL, X(3, 1, 1, 20)},

    {"linear tiny", OP_LINEAR, ROWS(3, 4), 5, .differentiate = true},
    {"linear", OP_LINEAR, ROWS(16, 512), 1000},
    {"linear odd", OP_LINEAR, ROWS(7, 65), 5},
    {"linear hidden tiny", OP_LINEAR, ROWS(3, 4), 5, .attr = {.activation = true},
     .differentiate = true},
    {"linear relu tiny", OP_LINEAR, ROWS(3, 4), 5, .attr = {.activation = true, .relu = true},
     .differentiate = true},
    {"linear relu", OP_LINEAR, ROWS(16, 512), 256, .attr = {.activation = true, .relu = true}},
    {"linear of pixels tiny", OP_LINEAR, X(2, 3, 2, 4), 3, .differentiate = true},
    {"linear of pixels", OP_LINEAR, X(2, 14, 14, 64), 12},
    {"linear of a picture tiny", OP_LINEAR, X(2, 3, 2, 4), 5, .attr = {.activation = true},
     .make = make_flat, .differentiate = true},
    {"linear relu of a picture", OP_LINEAR, X(4, 7, 7, 64), 96,
     .attr = {.activation = true, .relu = true}, .make = make_flat},
    {"loss tiny", OP_SOFTMAX_CROSS_ENTROPY, ROWS(5, 7), LOSS(0, 0.2), .differentiate = true},
    {"loss smoothed", OP_SOFTMAX_CROSS_ENTROPY, ROWS(5, 3), LOSS(0.1, 1), .differentiate = true},
    {"conv bias tiny", OP_CONV2D_AFFINE, X(2, 4, 5, 3), 4, WINDOW(3, 1, 1), .make = make_affine,
     .differentiate = true},
    {"conv bias relu add tiny", OP_CONV2D_AFFINE, X(2, 5, 5, 3), 4, AFFINE(3, 2, 1, true),
     .make = make_affine_add, .differentiate = true},
    {"conv frozen norm tiny", OP_CONV2D_AFFINE, X(2, 4, 5, 3), 4, AFFINE(1, 1, 0, false),
     .make = make_affine_norm, .differentiate = true},
    {"conv frozen join tiny", OP_CONV2D_AFFINE, X(2, 4, 5, 3), 4, AFFINE(3, 1, 1, true),
     .make = make_affine_join, .differentiate = true},
    {"conv bias relu", OP_CONV2D_AFFINE, X(2, 14, 14, 64), 64, AFFINE(3, 1, 1, true),
     .make = make_affine},
    {"conv bias add", OP_CONV2D_AFFINE, X(2, 9, 11, 17), 23, AFFINE(3, 2, 1, false),
     .make = make_affine_add},
    {"conv frozen norm relu", OP_CONV2D_AFFINE, X(2, 14, 14, 64), 128, AFFINE(1, 1, 0, true),
     .make = make_affine_norm},
    {"conv frozen join", OP_CONV2D_AFFINE, X(2, 14, 14, 64), 256, AFFINE(1, 1, 0, true),
     .make = make_affine_join},
    {"conv frozen join stride 2", OP_CONV2D_AFFINE, X(2, 9, 7, 48), 80, AFFINE(3, 2, 1, true),
     .make = make_affine_join},
    {"conv bias relu deep", OP_CONV2D_AFFINE, X(1, 5, 3, 320), 272, AFFINE(1, 1, 0, true),
     .make = make_affine},
    {"conv 3x3 frozen join", OP_CONV2D_AFFINE, X(3, 13, 6, 32), 48, AFFINE(3, 1, 1, true),
     .make = make_affine_join},
    {"conv 3x3 frozen norm", OP_CONV2D_AFFINE, X(1, 19, 21, 64), 32, AFFINE(3, 1, 0, false),
     .make = make_affine_norm},
    {"conv 3x3 bias add", OP_CONV2D_AFFINE, X(1, 7, 10, 16), 16, AFFINE(3, 1, 1, false),
     .make = make_affine_add},
    {"served conv frozen norm relu", OP_CONV2D_AFFINE, X(2, 14, 13, 64), 128, AFFINE(1, 1, 0, true),
     .make = make_affine_norm, .inference = true},
    {"served conv frozen join", OP_CONV2D_AFFINE, X(3, 9, 14, 32), 192, AFFINE(1, 1, 0, true),
     .make = make_affine_join, .inference = true},
    {"served conv bias add", OP_CONV2D_AFFINE, X(1, 3, 5, 64), 64, AFFINE(1, 1, 0, false),
     .make = make_affine_add, .inference = true},
    {"served conv 3x3 frozen norm relu", OP_CONV2D_AFFINE, X(2, 14, 13, 64), 128,
     AFFINE(3, 1, 1, true), .make = make_affine_norm, .inference = true},
    {"served conv 3x3 frozen join", OP_CONV2D_AFFINE, X(3, 13, 6, 32), 64, AFFINE(3, 1, 1, true),
     .make = make_affine_join, .inference = true},
    {"conv frozen stem", OP_CONV2D_AFFINE, X(2, 32, 32, 3), 64, AFFINE(7, 2, 3, true),
     .make = make_affine_norm},
    {"data gradient of a frozen conv", OP_CONV2D_GRAD_DATA_AFFINE, X(2, 9, 7, 48), 80,
     AFFINE(3, 2, 1, false), .make = make_grad_scaled},
    {"data gradient of a frozen conv 1x1 stride 2", OP_CONV2D_GRAD_DATA_AFFINE, X(2, 8, 6, 64), 128,
     AFFINE(1, 2, 0, false), .make = make_grad_scaled},
    {"data gradient into a bias and relu", OP_CONV2D_GRAD_DATA_AFFINE, X(2, 14, 14, 64), 64,
     AFFINE_GRAD(3, 1, 1, true), .make = make_grad_masked},
    {"data gradient of a frozen conv into a relu", OP_CONV2D_GRAD_DATA_AFFINE, X(2, 9, 7, 48), 80,
     AFFINE_GRAD(3, 2, 1, false), .make = make_grad_scaled_masked},
    {"data gradient of a frozen conv into a relu 1x1", OP_CONV2D_GRAD_DATA_AFFINE, X(3, 5, 3, 64),
     96, AFFINE_GRAD(1, 1, 0, true), .make = make_grad_scaled_masked},
    {"data gradient of a frozen conv and shortcut into a relu", OP_CONV2D_GRAD_DATA_AFFINE,
     X(2, 7, 7, 256), 64, AFFINE_GRAD(1, 1, 0, true), .make = make_grad_shortcut},
    {"weights of a frozen conv", OP_CONV2D_GRAD_WEIGHT_AFFINE, X(2, 9, 7, 48), 80,
     AFFINE(3, 2, 1, false), .make = make_grad_weight_scaled},
    {"weights of a frozen conv 1x1", OP_CONV2D_GRAD_WEIGHT_AFFINE, X(2, 14, 14, 64), 128,
     AFFINE(1, 1, 0, false), .make = make_grad_weight_scaled},
    {"stats", OP_CONV2D_STATS, X(2, 9, 7, 16), 24, WINDOW(3, 2, 1)},
    {"stats 1x1", OP_CONV2D_STATS, X(2, 14, 14, 64), 128, WINDOW(1, 1, 0)},
    {"norm prologue", OP_NORM_CONV2D_STATS, X(2, 9, 7, 16), 24, WINDOW(3, 1, 1)},
    {"norm prologue 1x1", OP_NORM_CONV2D_STATS, X(2, 14, 14, 64), 128, WINDOW(1, 1, 0)},
    {"join prologue", OP_JOIN_CONV2D_STATS, X(2, 7, 7, 64), 16, WINDOW(1, 1, 0)},
    {"dual join prologue", OP_DUAL_JOIN_CONV2D_STATS, X(2, 7, 7, 64), 16, WINDOW(1, 1, 0)},
    {"finalize", OP_NORM_FINALIZE, X(4, 7, 7, 40), NORM},
    {"apply", OP_NORM_APPLY_RELU, X(2, 7, 7, 24)},
    {"apply join", OP_JOIN_APPLY_RELU, X(2, 7, 7, 24)},
    {"apply dual join", OP_DUAL_JOIN_APPLY_RELU, X(2, 7, 7, 24)},
    {"weights behind a norm", OP_NORM_CONV2D_GRAD_WEIGHT, X(2, 9, 7, 16), 24, WINDOW(3, 2, 1)},
    {"data gradient into a norm", OP_CONV2D_GRAD_DATA_NORM, X(2, 9, 7, 16), 24, WINDOW(3, 2, 1)},
    {"data gradient and shortcut into a norm", OP_CONV2D_GRAD_DATA_ADD_NORM, X(2, 8, 8, 16), 24,
     WINDOW(3, 1, 1)},
    {"data gradient into a join", OP_CONV2D_GRAD_DATA_ADD_JOIN, X(2, 7, 7, 64), 16,
     WINDOW(1, 1, 0)},
    {"data gradient into a dual join", OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN, X(2, 7, 7, 64), 16,
     WINDOW(1, 1, 0)},
    {"norm prologue 3x3 64", OP_NORM_CONV2D_STATS, X(2, 14, 14, 64), 64, WINDOW(3, 1, 1)},
    {"join prologue 256 to 64", OP_JOIN_CONV2D_STATS, X(2, 14, 14, 256), 64, WINDOW(1, 1, 0)},
    {"dual join prologue 256 to 128", OP_DUAL_JOIN_CONV2D_STATS, X(2, 14, 14, 256), 128,
     WINDOW(1, 1, 0)},
    {"weights behind a norm 3x3 64", OP_NORM_CONV2D_GRAD_WEIGHT, X(2, 14, 14, 64), 64,
     WINDOW(3, 1, 1)},
    {"data gradient into a norm 3x3 64", OP_CONV2D_GRAD_DATA_NORM, X(2, 14, 14, 64), 64,
     WINDOW(3, 1, 1)},
    {"data gradient into a join 256 to 64", OP_CONV2D_GRAD_DATA_ADD_JOIN, X(2, 14, 14, 256), 64,
     WINDOW(1, 1, 0)},
    {"data gradient into a dual join 256 to 64", OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN,
     X(2, 14, 14, 256), 64, WINDOW(1, 1, 0)},
    {"data gradient into a norm 3x3, odd picture", OP_CONV2D_GRAD_DATA_NORM, X(3, 9, 7, 64), 64,
     WINDOW(3, 1, 1)},
    {"data gradient and shortcut into a norm 3x3 64", OP_CONV2D_GRAD_DATA_ADD_NORM, X(2, 5, 6, 64),
     64, WINDOW(3, 1, 1)},
    {"data gradient and shortcut into a norm 1x1 64", OP_CONV2D_GRAD_DATA_ADD_NORM, X(3, 5, 3, 64),
     96, WINDOW(1, 1, 0)},
    {"data gradient into a join 3x3 64", OP_CONV2D_GRAD_DATA_ADD_JOIN, X(2, 7, 5, 64), 64,
     WINDOW(3, 1, 1)},
    {"apply a norm's gradient", OP_NORM_GRAD_APPLY, X(2, 7, 7, 24)},
    /* Pixels of one tile of 128 and of several, the last one ragged. */
    {"backward between norms 64 to 256", OP_CONV2D_BACKWARD_NORM, X(2, 12, 11, 64), 256,
     WINDOW(1, 1, 0)},
    {"backward between norms 64 to 64, few pixels", OP_CONV2D_BACKWARD_NORM, X(1, 3, 5, 64), 64,
     WINDOW(1, 1, 0)},
    {"backward between norms 128 to 512", OP_CONV2D_BACKWARD_NORM, X(1, 11, 12, 128), 512,
     WINDOW(1, 1, 0)},
    {"backward between norms 256 to 128", OP_CONV2D_BACKWARD_NORM, X(2, 6, 11, 256), 128,
     WINDOW(1, 1, 0)},
    {"backward between norms 256 to 64, a whole tile", OP_CONV2D_BACKWARD_NORM, X(2, 8, 8, 256), 64,
     WINDOW(1, 1, 0)},
    {"backward between norms 512 to 128", OP_CONV2D_BACKWARD_NORM, X(1, 5, 7, 512), 128,
     WINDOW(1, 1, 0)},
    {"backward between norms, odd channels", OP_CONV2D_BACKWARD_NORM, X(2, 5, 3, 24), 40,
     WINDOW(1, 1, 0)},
    {"backward in front of a norm 64 to 256", OP_CONV2D_BACKWARD, X(2, 12, 11, 64), 256,
     WINDOW(1, 1, 0)},
    {"backward in front of a norm 64 to 64", OP_CONV2D_BACKWARD, X(4, 8, 8, 64), 64,
     WINDOW(1, 1, 0)},
    {"backward into a join 256 to 64", OP_CONV2D_BACKWARD_JOIN, X(2, 12, 11, 256), 64,
     WINDOW(1, 1, 0)},
    {"backward into a join 256 to 128, few pixels", OP_CONV2D_BACKWARD_JOIN, X(1, 3, 5, 256), 128,
     WINDOW(1, 1, 0)},
    {"backward into a join 64 to 256, whole tiles", OP_CONV2D_BACKWARD_JOIN, X(6, 8, 8, 64), 256,
     WINDOW(1, 1, 0)},
    {"backward into a join, odd channels", OP_CONV2D_BACKWARD_JOIN, X(2, 5, 3, 24), 40,
     WINDOW(1, 1, 0)},

    {"relu not finite", OP_RELU, X(2, 5, 6, 9), .special = SPECIAL_ALL},
    {"sigmoid not finite", OP_SIGMOID, X(2, 5, 6, 9), .special = SPECIAL_ALL},
    {"bias relu not finite", OP_BIAS, X(2, 5, 6, 9), .attr = {.relu = true},
     .special = SPECIAL_ALL},
    {"upsample add with NaN", OP_UPSAMPLE_ADD, X(2, 4, 6, 12), .special = SPECIAL_NAN},
    {"frozen join with NaN", OP_BATCH_NORM_INFERENCE, X(2, 5, 6, 9), NORM_AS(NORM_ADD_RELU),
     .special = SPECIAL_NAN},
    {"add not finite", OP_ADD, X(2, 5, 6, 9), .special = SPECIAL_ALL},
    {"add relu not finite", OP_ADD_RELU, X(2, 5, 6, 9), .special = SPECIAL_ALL},
    {"max pool not finite", OP_MAX_POOL, X(2, 9, 8, 16), WINDOW(3, 2, 1), .special = SPECIAL_ALL},
    {"max pool not finite, odd channels", OP_MAX_POOL, X(2, 7, 9, 5), WINDOW(2, 2, 0),
     .special = SPECIAL_ALL},
    {"average pool not finite", OP_GLOBAL_AVG_POOL, X(2, 3, 4, 12), .special = SPECIAL_ALL},
    {"norm with NaN", OP_BATCH_NORM, X(3, 5, 7, 19), NORM, .special = SPECIAL_NAN},
    {"norm relu with NaN", OP_BATCH_NORM, X(3, 5, 7, 24), NORM_AS(NORM_RELU),
     .special = SPECIAL_NAN},
    {"join with NaN", OP_BATCH_NORM, X(3, 5, 7, 24), NORM_AS(NORM_ADD_RELU), .two_gradients = true,
     .special = SPECIAL_NAN},
    {"dual join with NaN", OP_BATCH_NORM, X(3, 5, 7, 24), NORM_AS(NORM_DUAL_ADD_RELU),
     .special = SPECIAL_NAN},
    {"norm relu pool with NaN", OP_BATCH_NORM, X(2, 9, 11, 16), NORM_POOL(3, 2, 1),
     .special = SPECIAL_NAN},
    {"inference norm relu with NaN", OP_BATCH_NORM_INFERENCE, X(2, 5, 6, 24), NORM_AS(NORM_RELU),
     .special = SPECIAL_NAN},
    {"inference join with NaN", OP_BATCH_NORM_INFERENCE, X(2, 5, 6, 24), NORM_AS(NORM_ADD_RELU),
     .special = SPECIAL_NAN},
    {"inference dual join with NaN", OP_BATCH_NORM_INFERENCE, X(2, 5, 6, 24),
     NORM_AS(NORM_DUAL_ADD_RELU), .special = SPECIAL_NAN},
    {"finalize with NaN", OP_NORM_FINALIZE, X(4, 7, 7, 40), NORM, .special = SPECIAL_NAN},
    {"apply with NaN", OP_NORM_APPLY_RELU, X(2, 7, 7, 24), .special = SPECIAL_NAN},
    {"apply join with NaN", OP_JOIN_APPLY_RELU, X(2, 7, 7, 24), .special = SPECIAL_NAN},
    {"apply dual join with NaN", OP_DUAL_JOIN_APPLY_RELU, X(2, 7, 7, 24), .special = SPECIAL_NAN},
    {"apply a norm's gradient with NaN", OP_NORM_GRAD_APPLY, X(2, 7, 7, 24),
     .special = SPECIAL_NAN},
    {"loss with NaN", OP_SOFTMAX_CROSS_ENTROPY, ROWS(16, 30), LOSS(0.1, 0.0625),
     .special = SPECIAL_NAN},
    {"loss with NaN, few classes", OP_SOFTMAX_CROSS_ENTROPY, ROWS(16, 3), LOSS(0, 1),
     .special = SPECIAL_NAN},
    {"add wide", OP_ADD, X(2, 5, 6, 9), .wide = true},
    {"add wide, many", OP_ADD, ROWS(64, 16), .wide = true},
    {"norm behind a pixel of 100", OP_BATCH_NORM, X(4, 56, 56, 16), NORM, .outlier = 100},
    {"norm behind a pixel of 1000", OP_BATCH_NORM, X(4, 56, 56, 16), NORM_AS(NORM_RELU),
     .outlier = 1000},
    {"linear of many rows", OP_LINEAR, ROWS(3000, 24), 10},
    {"loss 1000 classes", OP_SOFTMAX_CROSS_ENTROPY, ROWS(16, 1000), LOSS(0.1, 0.0625)},
};

static const struct op_case_list dense = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct op_case_list *const lists[] = {&dense, &op_cases_maps, &op_cases_rpn,
                                                   &op_cases_roi};
enum { LISTS = sizeof(lists) / sizeof(lists[0]), WORD_SIZE = 80 };

int op_case_count(void) {
    int count = 0;
    for (int i = 0; i < LISTS; i++)
        count += lists[i]->count;
    return count;
}

const struct op_case *op_case_at(int number) {
    int list = 0;
    for (; number >= lists[list]->count; list++)
        number -= lists[list]->count;
    return &lists[list]->rows[number];
}

bool op_case_is_meant(const struct op_case *row, const char *words) {
    char word[WORD_SIZE];
    for (; words != NULL && *words != '\0'; words += *words == '|') {
        size_t length = strcspn(words, "|");
        (void)snprintf(word, sizeof(word), "%.*s", (int)length, words);
        if (length < sizeof(word) && strstr(row->name, word) != NULL)
            return true;
        words += length;
    }
    return words == NULL;
}
