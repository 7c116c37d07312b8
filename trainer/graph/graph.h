/* The static graph: tensors and operators in the order in which they run. A model is described
 * once with the builder functions below, then compiled (program/program.h), which rewrites the
 * graph.
 *
 * The builder returns tensor numbers. It never returns an error: the first one is kept, later calls
 * do nothing and return TENSOR_NONE, and graph_finish reports it. Names are copied; a printf-free
 * name of an operator is the prefix of its parameters ("layer1.0.bn1").
 *
 * Ownership: the graph owns all it holds until graph_done. Not thread safe. */
#ifndef TRAINER_GRAPH_GRAPH_H
#define TRAINER_GRAPH_GRAPH_H

#include "common/error.h"
#include "trainer/graph/op.h"
#include "trainer/graph/tensor.h"

#include <stdbool.h>

/* ResNet-152 takes about 5,000 tensors with its backward pass. */
enum { GRAPH_TENSORS_MAX = 65536, GRAPH_OPS_MAX = 32768, GRAPH_LOSSES_MAX = 8 };

struct graph {
    enum dtype dtype; /* of activations */
    bool training;    /* batch norm uses batch statistics; a compile adds the backward pass */
    struct tensor *tensors;
    int tensor_count, tensor_capacity;
    struct op *ops;
    int op_count, op_capacity;
    int *gradient;                /* per tensor, for gradients.c */
    int losses[GRAPH_LOSSES_MAX]; /* the operators that backward starts from */
    int loss_count;
    int rows;           /* of the operators that are appended (struct op) */
    bool frozen;        /* graph_freeze */
    struct error error; /* of the first builder call that failed */
    bool failed;
};

void graph_init(struct graph *graph, enum dtype dtype, bool training);
void graph_done(struct graph *graph);
/* 0, or the first error of the calls before. */
int graph_finish(const struct graph *graph, struct error *err);

/* --- tensors from outside ------------------------------------------------------------------- */
int graph_input(struct graph *graph, const char *name, enum dtype dtype, struct shape shape);
int graph_parameter(struct graph *graph, const char *name, struct shape shape,
                    enum tensor_init init, int64_t init_fan);
int graph_state(struct graph *graph, const char *name, struct shape shape, enum tensor_init init);
/* How PARAMETER lies in files; FILE_PLAIN at first. */
void graph_file(struct graph *graph, int parameter, enum tensor_file file);
/* While FROZEN, parameters and states that are made become constants, and norms use their running
 * statistics in training, too. */
void graph_freeze(struct graph *graph, bool frozen);
/* Keeps TENSOR, the result of an operator, after a step and calls it NAME, by which program_read
 * finds it. Returns TENSOR. */
int graph_keep(struct graph *graph, int tensor, const char *name);
/* Of the operators that are made from here on, and of their gradients, only so many leading rows
 * count as ROWS, i32 [1], says in each step (struct op); TENSOR_NONE: all, as at first. */
void graph_rows(struct graph *graph, int rows);
/* The operator that makes TENSOR is one of the graph's losses: backward starts at all of them, and
 * parameters get the gradients of their sum. */
void graph_loss(struct graph *graph, int tensor);

/* --- operators -------------------------------------------------------------------------------- */
int graph_image_normalize(struct graph *graph, int image, const float mean[3], const float std[3],
                          int channels);
/* What an operator learns or was given, TENSOR_NONE where it has none. Made once, it may serve
 * several operators (the _with functions): its gradient is the sum of what they send. */
struct graph_weights {
    int weight, bias;   /* of a norm: gamma, beta */
    int mean, variance; /* of a norm: running */
};

/* Makes NAME.weight for INPUTS channels (those of x, or fewer: the rest is padding). */
struct graph_weights graph_conv2d_weights(struct graph *graph, const char *name, int64_t inputs,
                                          int64_t outputs, int kernel);
int graph_conv2d_with(struct graph *graph, const char *name, int x,
                      const struct graph_weights *weights, struct op_window window);
/* Both. */
int graph_conv2d(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                 struct op_window window);
/* Makes NAME.bias. */
int graph_bias_parameter(struct graph *graph, const char *name, int64_t channels,
                         enum tensor_init init, int64_t init_fan);
/* x + BIAS, rectified if RELU. */
int graph_bias(struct graph *graph, const char *name, int x, int bias, bool relu);
/* A convolution with a bias, given or (the second) made, which starts at 0. */
int graph_conv2d_bias_with(struct graph *graph, const char *name, int x,
                           const struct graph_weights *weights, struct op_window window, bool relu);
int graph_conv2d_bias(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                      struct op_window window, bool relu);
/* The transposed convolution of x [N,H,W,INPUTS]: the gradient of one with WINDOW, by its input
 * [N,stride*H,stride*W,OUTPUTS]. Makes NAME.weight [INPUTS,k,k,OUTPUTS] and NAME.bias. */
int graph_conv_transpose2d(struct graph *graph, const char *name, int x, int64_t inputs,
                           int64_t outputs, struct op_window window, bool relu);
struct norm_options {
    double epsilon;         /* 1e-5 */
    double momentum;        /* 0.1 */
    enum tensor_init gamma; /* INIT_ONE or INIT_ZERO */
};
/* Makes NAME.weight, .bias, .running_mean, .running_var. */
struct graph_weights graph_norm_weights(struct graph *graph, const char *name, int64_t channels,
                                        enum tensor_init gamma);
int graph_batch_norm_with(struct graph *graph, const char *name, int x,
                          const struct graph_weights *weights, struct norm_options options);
/* Both. */
int graph_batch_norm(struct graph *graph, const char *name, int x, struct norm_options options);
/* KIND: a function of POINTWISE_FUNCTIONS (math/pointwise.h). */
int graph_pointwise(struct graph *graph, enum op_kind kind, int x);
int graph_relu(struct graph *graph, int x);
int graph_add(struct graph *graph, int a, int b);
/* a + b at twice its height and width, each pixel four times. */
int graph_upsample_add(struct graph *graph, int a, int b);
int graph_max_pool(struct graph *graph, int x, struct op_window window);
int graph_global_avg_pool(struct graph *graph, int x);
/* Makes NAME.weight and NAME.bias. */
struct graph_weights graph_linear_weights(struct graph *graph, const char *name, int64_t inputs,
                                          int64_t outputs);
/* The same for a layer that reads maps [N,SIDE,SIDE,CHANNELS]: NAME.weight has their axes. */
struct graph_weights graph_linear_map_weights(struct graph *graph, const char *name, int64_t side,
                                              int64_t channels, int64_t outputs);
int graph_linear_with(struct graph *graph, const char *name, int x,
                      const struct graph_weights *weights);
/* Both. */
int graph_linear(struct graph *graph, const char *name, int x, int64_t outputs);
/* A layer inside a network: its result is an activation, rectified if RELU. */
int graph_linear_hidden_with(struct graph *graph, const char *name, int x,
                             const struct graph_weights *weights, bool relu);
/* The metrics tensor (enum loss_metric); a loss of the graph: the mean over the batch. */
int graph_softmax_cross_entropy(struct graph *graph, int logits, int labels, int weights,
                                double label_smoothing);

/* Any operator, for those that have no function of their own here: as graph_append, but the first
 * error is kept. Returns the operator's number or -1. */
int graph_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
             const struct op_attr *attr);

/* --- for passes and tests --------------------------------------------------------------------- */
int graph_tensor(struct graph *graph, const char *name, enum dtype dtype, struct shape shape,
                 enum tensor_role role, struct error *err);
/* Appends an operator: INPUTS has a slot for each of the kind's inputs. Outputs are made by the
 * shape rule. Returns its number or -1. */
int graph_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, struct error *err);
/* Puts OP, whose outputs exist, in front of operator NUMBER; it and those behind move up by one. */
int graph_insert(struct graph *graph, int number, const struct op *op, struct error *err);
/* For shape rules: makes output SLOT, an activation. */
int graph_set_output(struct graph *graph, struct op *op, int slot, enum dtype dtype,
                     struct shape shape, struct error *err);
/* The tensor called NAME, or TENSOR_NONE. */
int graph_find(const struct graph *graph, const char *name);

#endif
