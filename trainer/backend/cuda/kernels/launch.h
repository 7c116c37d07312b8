/* Launchers of the device's own kernels, callable from C. Each enqueues on STREAM and returns what
 * the launch said. Addresses are device memory; activations are NHWC, dense; `type` is that of
 * activations, everything per channel is f32. Nothing here waits. */
#ifndef TRAINER_BACKEND_CUDA_KERNELS_LAUNCH_H
#define TRAINER_BACKEND_CUDA_KERNELS_LAUNCH_H

#include "trainer/graph/backend.h"
#include "trainer/graph/tensor.h"
#include "trainer/math/optimizer.h"
#include "trainer/math/pointwise.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets small kernels, and those after them, begin before preceding ones end (vec.cuh), on devices
 * of compute capability 9.0 and later. Call it before the first launch; off by default. */
void launch_overlap(bool overlap);

/* Launches, and those of them that may begin while others end. */
struct launch_count {
    unsigned long all, early;
};
/* After this call launches on any stream are only counted, in COUNT, until it is called with NULL.
 * Simulated GPUs use it (cuda/simulated_gpu.h). */
void launch_count_in(struct launch_count *count);

/* --- elementwise.cu ------------------------------------------------------------------------- */
/* y = f(a, b) over COUNT elements, a function of math/pointwise.h; those of one tensor read no
 * b. In place is fine. */
cudaError_t launch_pointwise(cudaStream_t stream, enum pointwise function, enum dtype type,
                             const void *a, const void *b, void *y, size_t count);

struct normalize_args {
    const uint8_t *image; /* [pixels, 3] */
    void *y;              /* [pixels, channels] */
    size_t pixels;
    int channels;
    float scale[3], bias[3]; /* y = u8 * scale + bias */
};
cudaError_t launch_normalize(cudaStream_t stream, enum dtype type,
                             const struct normalize_args *args);

/* Copy rows of `from_width` elements to rows of `to_width`: missing elements become zero, further
 * ones are dropped. They convert weights to the activation's type and back. */
cudaError_t launch_pack(cudaStream_t stream, enum dtype to, void *packed, const float *values,
                        size_t rows, int to_width, int from_width);
cudaError_t launch_unpack(cudaStream_t stream, enum dtype from, float *values, const void *packed,
                          size_t rows, int to_width, int from_width);
/* sums[c] = sum over ROWS of x[r, c], always in the same order. */
cudaError_t launch_column_sum(cudaStream_t stream, enum dtype type, float *sums, const void *x,
                              int rows, int columns, float *partial);
/* Returns the bytes of PARTIAL; 0 for few rows, which need none. */
size_t launch_column_sum_bytes(int rows, int columns);

/* --- fold.cu ---------------------------------------------------------------------------------- */
/* Weights [outputs, taps, from_width] as launch_pack has them, each output's times scale = gamma /
 * sqrt(variance + epsilon); packed_bias = beta - mean * scale. If gamma is NULL, the scale is 1 and
 * the bias is given; if packed_bias is NULL, no bias is made. */
struct fold_args {
    const float *w, *bias, *gamma, *beta, *mean, *variance;
    void *packed, *packed_bias; /* of the activation's type */
    size_t outputs, taps;
    int from_width, to_width;
    float epsilon;
};
enum { LAUNCH_FOLDS_MAX = 40 }; /* as many as a kernel's parameters hold */
/* Makes COUNT folds in one launch. */
cudaError_t launch_fold(cudaStream_t stream, enum dtype type, const struct fold_args *args,
                        int count);
/* gradient [outputs, taps, from_width] = `packed`, each output's values times its scale. It is f32;
 * if it is `packed` itself, in place and of the same width, it is of TYPE. */
cudaError_t launch_unfold(cudaStream_t stream, enum dtype type, const struct fold_args *args,
                          void *gradient);

/* --- dense.cu --------------------------------------------------------------------------------- */
/* y = x + bias, rectified if RELU. In place is fine. */
cudaError_t launch_bias(cudaStream_t stream, enum dtype type, const void *x, const float *bias,
                        void *y, size_t rows, int channels, bool relu);
/* y = x with the elements that math/dropout.h chooses zero, and the others times SCALE; in place is
 * fine. COUNT elements in each of SAMPLES; KEY has four words of each. */
struct dropout_args {
    const void *x;
    const int32_t *key;
    void *y;
    size_t samples, count;
    uint32_t bound;
    float scale;
    int layer;
};
cudaError_t launch_dropout(cudaStream_t stream, enum dtype type, const struct dropout_args *args);
/* LARGE has twice the height and width of SMALL; ROWS (of all pictures) and WIDTH are those of
 * SMALL. y = large + small, each pixel of SMALL added to four; in place is fine. db has the sums of
 * four pixels of dy. */
cudaError_t launch_upsample_add(cudaStream_t stream, enum dtype type, const void *large,
                                const void *small, void *y, size_t rows, size_t width,
                                int channels);
cudaError_t launch_upsample_grad(cudaStream_t stream, enum dtype type, const void *dy, void *db,
                                 size_t rows, size_t width, int channels);
/* Copies the channels of COUNT maps of ROWS pixels side by side into Y, which has all of them; or
 * of one map those from FIRST on, as many as Y has. */
enum { LAUNCH_MAPS_MAX = 6 };
struct concat_args {
    const void *from[LAUNCH_MAPS_MAX];
    int end[LAUNCH_MAPS_MAX]; /* of the channels of y that a map makes */
    int channels[LAUNCH_MAPS_MAX];
    int count, first;
    void *y;
    int y_channels;
    size_t rows;
};
cudaError_t launch_concat(cudaStream_t stream, enum dtype type, const struct concat_args *args);
/* With g = dy where y > 0 (y may be NULL): dx = g * gamma / sqrt(variance + epsilon); dside (or
 * NULL) = g, or by gamma2 and variance2. dx may lie where dy does. */
struct frozen_grad_args {
    const void *dy, *y;
    const float *gamma, *variance, *gamma2, *variance2;
    void *dx, *dside;
    size_t rows;
    int channels;
    float epsilon;
};
cudaError_t launch_frozen_grad(cudaStream_t stream, enum dtype type,
                               const struct frozen_grad_args *args);

/* --- norm_forward.cu, norm_backward.cu ----------------------------------------------------------
 */
enum { LAUNCH_CHUNKS_MAX = 1024 };
/* Returns the number of chunks, each the work of one block, into which ROWS of CHANNELS are split
 * on a device of MULTIPROCESSORS. */
int launch_norm_chunks(size_t rows, int channels, int multiprocessors);

/* A pool's input and output shape. */
struct pool_args {
    int batch, height, width, channels, out_height, out_width;
    int kernel, stride, pad;
};

/* One batch norm's operands; the forward pass fills mean and invstd. */
struct norm_args {
    const void *x;
    const float *gamma, *beta;
    float *mean, *invstd; /* of this batch */
    float *running_mean, *running_variance;
};

struct norm_forward_args {
    struct norm_args first, second; /* second.x is NULL but for the dual form */
    const void *side;               /* added after the norm; NULL */
    void *y;                        /* NULL: statistics alone */
    size_t rows;
    int channels;
    bool relu;
    bool inference; /* the running statistics instead of the batch's */
    float epsilon, momentum;
    int chunks;
    float *partial; /* scratch: chunks * 2 * channels */
    uint8_t *index; /* not NULL: y is max_pool(relu(norm(x))), and this the pool's index */
    struct pool_args pool;
};
cudaError_t launch_norm_forward(cudaStream_t stream, enum dtype type,
                                const struct norm_forward_args *args);

struct norm_backward_args {
    struct norm_args first, second;
    const void *dy, *dy2; /* dy2: added to dy, or NULL */
    const void *y;        /* mask y > 0; NULL: none, or computed again where `relu` */
    bool relu;            /* mask norm(x) (+ norm2(x2)) > 0 where y is NULL */
    void *dx, *dside;     /* dside: the masked dy, dual: by x of the second; or NULL */
    float *dgamma, *dbeta, *dgamma2, *dbeta2;
    size_t rows;
    int channels;
    int chunks;
    float *partial;      /* scratch: chunks * 2 (dual: 3, one sum of g serves both) * channels */
    float *coefficients; /* scratch: 6 * channels: dx = a g + b x + c, twice */
    const uint8_t
        *index; /* not NULL: dy and dy2 come from after a max pool, and this is its index */
    struct pool_args pool;
};
cudaError_t launch_norm_backward(cudaStream_t stream, enum dtype type,
                                 const struct norm_backward_args *args);

/* The coefficients of dx = a g + b x + c of a norm with known dgamma and dbeta. */
struct norm_coefficients_args {
    const float *gamma, *mean, *invstd, *dgamma, *dbeta;
    float *coefficients; /* [3, channels] */
    size_t rows;
    int channels;
};
enum { LAUNCH_NORMS_MAX = 2 };
/* Those of COUNT norms at once. */
cudaError_t launch_norm_coefficients(cudaStream_t stream, const struct norm_coefficients_args *args,
                                     int count);

/* --- norm_fused.cu ---------------------------------------------------------------------------- */
struct norm_finalize_args {
    const float *sum, *square_sum, *gamma, *beta;
    float *running_mean, *running_variance;
    float *mean, *invstd;
    void *scale, *bias; /* of the activation's type */
    size_t rows;
    int channels;
    float epsilon, momentum;
};
cudaError_t launch_norm_finalize(cudaStream_t stream, enum dtype type,
                                 const struct norm_finalize_args *args);

/* y = relu(x * scale + bias + side), where side may be NULL, or stand for side * scale2 + bias2. */
struct norm_apply_args {
    const void *x, *scale, *bias;
    const void *side, *scale2, *bias2;
    void *y;
    size_t rows;
    int channels;
    int chunks; /* of the rows: blocks that share them */
};
cudaError_t launch_norm_apply(cudaStream_t stream, enum dtype type,
                              const struct norm_apply_args *args);

/* dx = g * coefficients[0] + x * coefficients[1] + coefficients[2], each a row of channels. */
struct norm_grad_apply_args {
    const void *g, *x;
    const float *coefficients;
    void *dx;
    size_t rows;
    int channels;
    int chunks;
};
cudaError_t launch_norm_grad_apply(cudaStream_t stream, enum dtype type,
                                   const struct norm_grad_apply_args *args);

/* --- pool.cu -----------------------------------------------------------------------------------
 */
cudaError_t launch_max_pool(cudaStream_t stream, enum dtype type, const struct pool_args *shape,
                            const void *x, void *y, uint8_t *index);
cudaError_t launch_max_pool_grad(cudaStream_t stream, enum dtype type,
                                 const struct pool_args *shape, const void *dy,
                                 const uint8_t *index, void *dx);
/* Means over windows, and their gradient (from dy and to dx). */
cudaError_t launch_window_average(cudaStream_t stream, enum dtype type,
                                  const struct pool_args *shape, const void *from, void *to,
                                  bool gradient);
cudaError_t launch_average_pool(cudaStream_t stream, enum dtype type, const void *x, void *y,
                                int batch, int pixels, int channels);
cudaError_t launch_average_pool_grad(cudaStream_t stream, enum dtype type, const void *dy, void *dx,
                                     int batch, int pixels, int channels);

/* --- loss.cu -----------------------------------------------------------------------------------
 */
struct loss_args {
    const float *logits; /* [batch, classes] */
    const int32_t *labels;
    const float *weights;
    int batch, classes;
    float smoothing;
};
/* metrics: LOSS_METRICS sums, always in the same order; PARTIAL is scratch of batch * LOSS_METRICS.
 */
cudaError_t launch_loss(cudaStream_t stream, const struct loss_args *args, float *metrics,
                        float *partial);
/* SCALE: times gradient_scale, times *loss_scale (device memory; NULL is 1). */
cudaError_t launch_loss_grad(cudaStream_t stream, enum dtype type, const struct loss_args *args,
                             void *dlogits, float gradient_scale, const float *loss_scale);

/* --- optimizer.cu --------------------------------------------------------------------------------
 */
/* The optimizer's state on the device, so that a recorded step needs no host. */
enum { LAUNCH_SQUARES_BLOCKS = 256 };
struct control {
    struct optimizer_rule rule; /* written by the host before each step */
    struct optimizer_step now;  /* the rule's step at this update */
    struct backend_optimizer_state state;
    int growth_interval; /* 0: the scale is static */
    int is_void;         /* this step */
    int skipped;         /* steps that were not finite */
    float clip;          /* what this step's gradients are multiplied with, where it clips */
    double squares;      /* of launch_squares, and what its blocks add up */
    double partial_squares[LAUNCH_SQUARES_BLOCKS];
};
enum { LAUNCH_GROUP = 16 }; /* weights that share a byte of `groups` */

struct optimizer_args {
    float *weights;
    struct optimizer_state state;
    enum optimizer_kind kind; /* that of the rule's step */
    struct backend_norms norms;
    struct backend_gradients gradients;
    void *half;           /* the weights in HALF_TYPE, too; NULL */
    enum dtype half_type; /* that of gradients that are in half precision, if there are both */
    const unsigned char *groups; /* of the rule; NULL: all are of group 0 */
    bool clips;                  /* the rule has a clip_norm */
    const float *void_flag;      /* the step is void while it is above 0; NULL: never */
    const float *loss;           /* has to be finite, too; NULL: there is none */
    size_t count;
    float *states;
    const float *states_before;
    size_t state_count;
};
/* Clears `finite` in CONTROL if a gradient or the loss is not. Then updates, unless it is clear or
 * the step is void: in these cases the states are restored. Last, the scale is adapted, except in a
 * void step (Micikevicius et al. 2018, section 3.2). */
cudaError_t launch_optimizer(cudaStream_t stream, struct control *control,
                             const struct optimizer_args *args);
/* Reads 4 or 2 bytes a gradient and 4 of its sum, and writes 4. */
cudaError_t launch_add_gradients(cudaStream_t stream, const struct backend_sum *sum);
/* control->squares = sum of the squares of weights, each times its group's decay, always in the
 * same order. */
cudaError_t launch_squares(cudaStream_t stream, struct control *control,
                           const struct optimizer_args *args);

/* --- numbers.cu ------------------------------------------------------------------------------- */
/* Fills BYTES, whole words, with numbers that are finite in every type: magnitudes from 0.25 to
 * 0.5 in f16. The same in every run. */
cudaError_t launch_numbers(cudaStream_t stream, void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
