/* Builder functions for graphs: a model is described by calling them in the order of its operators.
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
/* Sets the layout of PARAMETER in files; FILE_PLAIN by default. */
void graph_file(struct graph *graph, int parameter, enum tensor_file file);
/* While FROZEN, new parameters and states become constants, and norms use their running statistics
 * even in training. */
void graph_freeze(struct graph *graph, bool frozen);
/* Keeps TENSOR, the result of an operator, after a step under NAME, for program_read. Returns
 * TENSOR. */
int graph_keep(struct graph *graph, int tensor, const char *name);
/* For operators added from here on, and their gradients, only the leading rows count, as many as
 * ROWS, i32 [1], holds in each step (struct op); TENSOR_NONE, the default: all. */
void graph_rows(struct graph *graph, int rows);
/* Marks the operator of TENSOR as a loss: backward starts at all of them, and parameters get the
 * gradients of their sum. */
void graph_loss(struct graph *graph, int tensor);

/* Inputs of a network that classifies. */
struct graph_samples {
    int image;  /* "image", u8 [N,H,W,3] */
    int label;  /* "label", i32 [N], 0-based */
    int weight; /* "weight", f32 [N]: 1, or 0 for a slot that only fills the batch */
};
struct graph_samples graph_labelled_images(struct graph *graph, int64_t count, int64_t height,
                                           int64_t width);

/* --- operators -------------------------------------------------------------------------------- */
int graph_image_normalize(struct graph *graph, int image, const float mean[3], const float std[3],
                          int channels);
/* Weights of an operator, TENSOR_NONE for those it does not have. Weights made once can be used by
 * several operators (the _with functions): the gradient is the sum over all of them. */
struct graph_weights {
    int weight, bias;   /* of a norm: gamma, beta */
    int mean, variance; /* of a norm: running */
};

/* Makes NAME.weight for INPUTS channels (those of x, or fewer: the rest is padding). */
struct graph_weights graph_conv2d_weights(struct graph *graph, const char *name, int64_t inputs,
                                          int64_t outputs, int kernel);
/* The same with WINDOW's sides, for INPUTS channels in its groups. */
struct graph_weights graph_conv2d_window_weights(struct graph *graph, const char *name,
                                                 int64_t inputs, int64_t outputs,
                                                 const struct op_window *window);
int graph_conv2d_with(struct graph *graph, const char *name, int x,
                      const struct graph_weights *weights, struct op_window window);
/* Both. */
int graph_conv2d(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                 struct op_window window);
/* Makes NAME.bias. */
int graph_bias_parameter(struct graph *graph, const char *name, int64_t channels,
                         enum tensor_init init, int64_t init_fan);
/* x + BIAS, followed by a ReLU if RELU. */
int graph_bias(struct graph *graph, const char *name, int x, int bias, bool relu);
/* A convolution with a bias; the second function makes the bias, initialized to 0. */
int graph_conv2d_bias_with(struct graph *graph, const char *name, int x,
                           const struct graph_weights *weights, struct op_window window, bool relu);
int graph_conv2d_bias(struct graph *graph, const char *name, int x, int64_t inputs, int64_t outputs,
                      struct op_window window, bool relu);
/* The transposed convolution of x [N,H,W,INPUTS]: the gradient of a convolution with WINDOW by its
 * input [N,stride*H,stride*W,OUTPUTS]. Makes NAME.weight [INPUTS,k,k,OUTPUTS] and NAME.bias. */
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
/* Channels of COUNT maps of the same pixels side by side; at most CONCAT_INPUTS. */
int graph_concat(struct graph *graph, const char *name, const int *maps, int count);
/* a + b upsampled by two: each pixel of b is added to four of a. */
int graph_upsample_add(struct graph *graph, int a, int b);
/* Makes the input "key", i32 [BATCH,4]: math/sample_key.h. */
int graph_sample_keys(struct graph *graph, int64_t batch);
/* KEY: such keys, of the samples of X. LAYER: another number for each dropout of the graph,
 * below 256. */
int graph_dropout(struct graph *graph, int x, int key, double rate, int layer);
int graph_max_pool(struct graph *graph, int x, struct op_window window);
/* Means over windows; cells outside the image count as 0. */
int graph_avg_pool(struct graph *graph, int x, struct op_window window);
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
/* A hidden layer: its result is an activation, followed by a ReLU if RELU. */
int graph_linear_hidden_with(struct graph *graph, const char *name, int x,
                             const struct graph_weights *weights, bool relu);
/* Returns the metrics tensor (enum loss_metric); marks it as a loss of the graph: the mean over
 * the batch. */
int graph_softmax_cross_entropy(struct graph *graph, int logits, int labels, int weights,
                                double label_smoothing);
/* The same of a loss that counts SHARE in the graph's; the metrics are as if it were 1. */
int graph_softmax_cross_entropy_weighted(struct graph *graph, int logits, int labels, int weights,
                                         double label_smoothing, double share);

/* Appends any operator, for those without their own function here: as graph_append, but keeps the
 * first error. Returns the operator's number or -1. */
int graph_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
             const struct op_attr *attr);

#endif
