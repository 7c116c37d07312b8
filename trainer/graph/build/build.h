/* Builder functions: a model is described by calling them in the order of its operators.
 *
 * They return tensor numbers and never an error: the first one is kept, later calls do nothing and
 * return TENSOR_NONE, and graph_finish reports it. Names are copied; a printf-free name of an
 * operator is the prefix of its parameters ("layer1.0.bn1"). */
#ifndef TRAINER_GRAPH_BUILD_BUILD_H
#define TRAINER_GRAPH_BUILD_BUILD_H

#include "trainer/graph/graph.h"

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

#endif
