/* Table of cuDNN's operation graph for each kind of convolution operator. Operators are plain or
 * fused; the table also gives the operator's tensor for each of the graph's ids. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_TABLE_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_TABLE_H

#include "trainer/backend/cuda/dnn/dnn_pattern.h"
#include "trainer/graph/graph.h"

enum { CONV_OPERANDS_MAX = 24, CONV_TABLE_ROWS = 20 };

/* What an id stands for if it is not a tensor of the operator: a constant for each input channel,
 * or memory for results that are not used. */
enum conv_fill { CONV_TENSOR, CONV_ZEROS, CONV_ONES, CONV_SPARE };

struct conv_row {
    int64_t uid; /* 0: end of the rows */
    bool output; /* an output of the operator, else an input */
    int slot;    /* an absent tensor counts as CONV_SPARE */
    int parts;   /* ids uid .. uid + parts - 1 share the tensor, one row of channels each; 0: one */
    enum conv_fill fill;
};

struct conv_table {
    enum op_kind kind;
    enum dnn_pattern pattern;
    struct conv_row rows[CONV_TABLE_ROWS];
};

/* Returns NULL for an operator that is not a convolution, or has no operation graph. */
const struct conv_table *conv_table(const struct op *op);
/* Returns any row with PATTERN. */
const struct conv_table *conv_table_of_pattern(enum dnn_pattern pattern);
/* Returns true if OP is a convolution, with or without an operation graph. */
bool conv_table_is_conv(const struct op *op);

/* Returns the convolution itself: the shapes of its input and weights, from whatever slots have
 * them. */
struct dnn_conv conv_table_shape(const struct conv_table *form, const struct graph *graph,
                                 const struct op *op);
/* Returns the operator's weights, or their gradient. */
const struct tensor *conv_table_weights(const struct conv_table *form, const struct graph *graph,
                                        const struct op *op);

#endif
