/* One layer as the operators that train it, shapes alone: a convolution, its two gradients and the
 * convolution followed by a bias. */
#ifndef TESTS_SUPPORT_CONV_LAYER_H
#define TESTS_SUPPORT_CONV_LAYER_H

#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/graph/rules/op_table.h"

struct conv_layer {
    int64_t images, height, width, in, out;
    int kernel, stride, pad;
    int64_t weight_inputs; /* channels that the weights know; 0: all of x's */
};

enum { LAYER_FORWARD, LAYER_DATA, LAYER_WEIGHT, LAYER_AFFINE, LAYER_KINDS };

struct conv_layer_ops {
    struct graph graph; /* graph_done() */
    const struct op *of[LAYER_KINDS];
};

static inline int conv_layer_tensor(struct graph *graph, enum dtype dtype, struct shape shape) {
    struct error err = {0};
    int made = graph_tensor(graph, "t", dtype, shape, TENSOR_INPUT, &err);
    CU_ASSERT_FATAL(made >= 0);
    return made;
}

static inline void conv_layer_add(struct graph *graph, enum op_kind kind, int first, int second,
                                  int bias, const struct op_attr *attr) {
    struct error err = {0};
    int inputs[OP_INPUTS_MAX];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    inputs[0] = first;
    inputs[1] = second;
    inputs[AFFINE_BIAS] = bias;
    CU_ASSERT_FATAL(graph_append(graph, kind, "conv", inputs, attr, &err) >= 0);
}

/* The last is missing where the weights know fewer channels than x has. */
static inline void conv_layer_open(struct conv_layer_ops *ops, const struct conv_layer *l,
                                   enum dtype dtype) {
    struct graph *g = &ops->graph;
    int64_t inputs = l->weight_inputs > 0 ? l->weight_inputs : l->in;
    struct op_attr attr = {.window = {.kernel = l->kernel, .stride = l->stride, .pad = l->pad}};
    graph_init(g, dtype, true);
    int x = conv_layer_tensor(g, dtype, shape_4(l->images, l->height, l->width, l->in));
    int w = conv_layer_tensor(g, DTYPE_F32, shape_4(l->out, l->kernel, l->kernel, inputs));
    int bias = conv_layer_tensor(g, DTYPE_F32, shape_1(l->out));
    conv_layer_add(g, OP_CONV2D, x, w, TENSOR_NONE, &attr);
    int dy = g->ops[0].outputs[0];
    attr.target = g->tensors[x].shape;
    conv_layer_add(g, OP_CONV2D_GRAD_DATA, dy, w, TENSOR_NONE, &attr);
    attr.target = g->tensors[w].shape;
    conv_layer_add(g, OP_CONV2D_GRAD_WEIGHT, dy, x, TENSOR_NONE, &attr);
    if (inputs == l->in)
        conv_layer_add(g, OP_CONV2D_AFFINE, x, w, bias, &attr);
    for (int i = 0; i < LAYER_KINDS; i++)
        ops->of[i] = i < g->op_count ? &g->ops[i] : NULL;
}

/* NULL: this processor does not have them. */
static inline const struct loops *loops_called(const char *name) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        if (strcmp((*loops)->name, name) == 0)
            return *loops;
    return NULL;
}

#endif
