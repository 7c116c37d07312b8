/* Which of cuDNN's operation graphs serves a kind of operator, and which of the operator's tensors
 * stand behind the graph's ids: one table for the plain convolutions and all fused forms. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_TABLE_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_TABLE_H

#include "trainer/backend/cuda/dnn/dnn_graph.h"
#include "trainer/graph/graph.h"

enum { CONV_OPERANDS_MAX = 24, CONV_TABLE_ROWS = 20 };

/* What stands behind an id where it is no tensor of the operator: numbers of the input's channels
 * that are all the same, or room for results that nobody reads. */
enum conv_fill { CONV_TENSOR, CONV_ZEROS, CONV_ONES, CONV_SPARE };

struct conv_row {
    int64_t uid; /* 0: end of the rows */
    bool output; /* of the operator, else an input */
    int slot;    /* what is absent there is CONV_SPARE */
    int parts;   /* ids uid .. uid + parts - 1 share the tensor, a row of channels each; 0: one */
    enum conv_fill fill;
};

struct conv_table {
    enum op_kind kind;
    enum dnn_pattern pattern;
    struct conv_row rows[CONV_TABLE_ROWS];
};

/* NULL for what is no convolution, and for one that no operation graph serves. */
const struct conv_table *conv_table(const struct op *op);
/* Any that PATTERN serves. */
const struct conv_table *conv_table_of_pattern(enum dnn_pattern pattern);
/* OP is a convolution, whether a graph serves it or not. */
bool conv_table_is_conv(const struct op *op);

/* The convolution itself: the shapes of its input and weights, wherever the operator has them. */
struct dnn_conv conv_table_shape(const struct conv_table *form, const struct graph *graph,
                                 const struct op *op);
/* The operator's weights, or their gradient. */
const struct tensor *conv_table_weights(const struct conv_table *form, const struct graph *graph,
                                        const struct op *op);

#endif
