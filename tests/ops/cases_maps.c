/* Rows for grouped convolutions and for those with windows that are not square, for average
 * pooling, and for concatenated maps. */
#include "tests/ops/case_row.h"
#include "tests/ops/harness.h"

#define GROUPED(k, s, p, g) .attr = {.window = {.kernel = k, .stride = s, .pad = p, .groups = g}}
#define SIDES(h, w, s, ph, pw)                                                                     \
    .attr = {.window = {.kernel = h, .stride = s, .pad = ph, .across = {w, pw}}}

/* Makes `attr.layer` maps: x, then maps with `outputs` channels, half as many, and so on. */
static void make_maps(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct op_case *row = g->row;
    struct shape x = row->x;
    for (int i = 0; i < row->attr.layer; i++) {
        inputs[i] = op_graph_input(g, g->graph.dtype, x, FILL_NORMAL);
        x.dim[x.rank - 1] = row->outputs >> i;
    }
}

static void affine_inputs(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    inputs[AFFINE_X] = op_graph_input(g, g->graph.dtype, g->row->x, FILL_NORMAL);
    inputs[AFFINE_W] =
        op_graph_input(g, dtype_wide(g->graph.dtype), op_case_weights(g->row), FILL_WEIGHT);
}

/* Makes a convolution with a bias and an addend. */
static void make_biased_sum(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    affine_inputs(g, inputs);
    inputs[AFFINE_BIAS] =
        op_graph_input(g, dtype_wide(g->graph.dtype), shape_1(g->row->outputs), FILL_NORMAL);
    inputs[AFFINE_SIDE] = op_graph_input(g, g->graph.dtype, op_case_output(g->row), FILL_NORMAL);
}

/* Makes a convolution with a frozen norm. */
static void make_normed(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const enum fill fills[] = {FILL_GAMMA, FILL_NORMAL, FILL_NORMAL, FILL_POSITIVE};
    affine_inputs(g, inputs);
    for (int i = 0; i < 4; i++)
        inputs[AFFINE_GAMMA + i] =
            op_graph_input(g, dtype_wide(g->graph.dtype), shape_1(g->row->outputs), fills[i]);
}

static const struct op_case rows[] = {
    {"conv in groups tiny", OP_CONV2D, X(2, 4, 5, 6), 4, GROUPED(3, 1, 1, 2),
     .differentiate = true},
    {"conv in groups stride 2 tiny", OP_CONV2D, X(1, 5, 6, 4), 8, GROUPED(3, 2, 1, 4),
     .differentiate = true},
    {"conv of a channel each tiny", OP_CONV2D, X(1, 4, 4, 5), 5, GROUPED(3, 1, 1, 5),
     .differentiate = true},
    {"conv in groups of resnext50", OP_CONV2D, X(2, 14, 14, 128), 128, GROUPED(3, 1, 1, 32)},
    {"conv in groups of resnext50 stride 2", OP_CONV2D, X(2, 14, 14, 256), 256,
     GROUPED(3, 2, 1, 32)},
    {"conv in groups of 16", OP_CONV2D, X(3, 9, 7, 64), 96, GROUPED(3, 1, 1, 4)},
    {"conv in groups, odd channels", OP_CONV2D, X(3, 9, 5, 21), 15, GROUPED(3, 1, 1, 3)},
    {"conv in groups 1x1", OP_CONV2D, X(2, 7, 5, 48), 32, GROUPED(1, 1, 0, 2)},
    {"conv 1x7 tiny", OP_CONV2D, X(2, 3, 8, 2), 3, SIDES(1, 7, 1, 0, 3), .differentiate = true},
    {"conv 7x1 tiny", OP_CONV2D, X(1, 8, 3, 3), 2, SIDES(7, 1, 1, 3, 0), .differentiate = true},
    {"conv 3x2 stride 2 tiny", OP_CONV2D, X(1, 7, 6, 2), 3, SIDES(3, 2, 2, 0, 1),
     .differentiate = true},
    {"conv 1x3 in groups tiny", OP_CONV2D, X(1, 3, 5, 4), 6,
     .attr = {.window = {.kernel = 1, .stride = 1, .groups = 2, .across = {3, 1}}},
     .differentiate = true},
    {"conv 1x7 of inception", OP_CONV2D, X(2, 17, 17, 128), 128, SIDES(1, 7, 1, 0, 3)},
    {"conv 7x1 of inception", OP_CONV2D, X(2, 17, 17, 128), 192, SIDES(7, 1, 1, 3, 0)},
    {"conv 1x3 of inception", OP_CONV2D, X(2, 8, 8, 384), 384, SIDES(1, 3, 1, 0, 1)},
    {"conv 3x1 of inception", OP_CONV2D, X(1, 8, 8, 384), 384, SIDES(3, 1, 1, 1, 0)},
    {"conv 5x5 of inception", OP_CONV2D, X(2, 12, 12, 48), 64, WINDOW(5, 1, 2)},

    {"stats in groups", OP_CONV2D_STATS, X(2, 9, 7, 16), 24, GROUPED(3, 2, 1, 8)},
    {"stats 1x7", OP_CONV2D_STATS, X(2, 9, 9, 16), 24, SIDES(1, 7, 1, 0, 3)},
    {"conv in groups bias relu add", OP_CONV2D_AFFINE, X(2, 9, 8, 64), 96,
     .attr = {.relu = true, .window = {.kernel = 3, .stride = 2, .pad = 1, .groups = 16}},
     .make = make_biased_sum},
    {"conv in groups frozen norm", OP_CONV2D_AFFINE, X(1, 7, 9, 12), 20,
     .attr = {.epsilon = 1e-5, .window = {.kernel = 3, .stride = 1, .pad = 1, .groups = 4}},
     .make = make_normed},
    {"conv 1x7 frozen norm relu", OP_CONV2D_AFFINE, X(2, 9, 11, 48), 64,
     .attr = {.epsilon = 1e-3,
              .relu = true,
              .window = {.kernel = 1, .stride = 1, .across = {7, 3}}},
     .make = make_normed},
    {"avg pool tiny", OP_AVG_POOL, X(2, 5, 4, 3), WINDOW(3, 1, 1), .differentiate = true},
    {"avg pool stride 2 tiny", OP_AVG_POOL, X(1, 6, 7, 3), WINDOW(3, 2, 1), .differentiate = true},
    {"avg pool without padding tiny", OP_AVG_POOL, X(1, 6, 5, 2), WINDOW(2, 2, 0),
     .differentiate = true},
    {"avg pool stepping over pixels", OP_AVG_POOL, X(2, 8, 9, 5), WINDOW(2, 3, 1)},
    {"avg pool of inception", OP_AVG_POOL, X(2, 17, 17, 192), WINDOW(3, 1, 1)},
    {"avg pool odd channels", OP_AVG_POOL, X(3, 9, 5, 19), WINDOW(3, 1, 1)},
    {"avg pool with NaN", OP_AVG_POOL, X(2, 7, 7, 24), WINDOW(3, 1, 1), .special = SPECIAL_NAN},

    {"concat tiny", OP_CONCAT, X(2, 3, 4, 5), 4, .attr = {.layer = 3}, .make = make_maps,
     .differentiate = true},
    {"concat of a map", OP_CONCAT, X(1, 3, 2, 7), 1, .attr = {.layer = 1}, .make = make_maps},
    {"concat of matrices", OP_CONCAT, ROWS(7, 13), 6, .attr = {.layer = 2}, .make = make_maps},
    {"concat of inception", OP_CONCAT, X(2, 8, 8, 320), 384, .attr = {.layer = 6},
     .make = make_maps},
    {"concat odd channels", OP_CONCAT, X(3, 5, 7, 19), 24, .attr = {.layer = 4}, .make = make_maps},
};

const struct op_case_list op_cases_maps = {rows, sizeof(rows) / sizeof(rows[0])};
