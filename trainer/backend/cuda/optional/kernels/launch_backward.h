/* Launcher of a 1x1 convolution's backward pass as one kernel. The convolution precedes a norm;
 * devices need the tensor cores and the copy engine of compute capability 9.0. It is callable from
 * C (launch.h). It moves g, z and the tensors before the convolution once, dx once, and its blocks'
 * parts of the weights' gradient; three kernels would move g and z, and what they make of them,
 * five times.
 *
 * What it moves in ResNet-50's stages 1 and 2, in units of the narrow tensor (64 or 128 channels),
 * beside the three kernels: a bottleneck's last convolution 10 of 23, the first shortcut's 10 of
 * 22, the first convolution 4 of 7, one after a join 18 of 25, the first one of stage 2 10 of 15.
 *
 * Two have none. After a join of two norms sums of two x are needed, so that a block has five tiles
 * of the slice at once, for 22 of 25 units. A shortcut with stride 2 would move 4.5 of 7.5, but its
 * pixels are no rows of one matrix: the copy engine would want other maps, and zeros written
 * between its results, for 2.4 MB a picture of about 190. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_BACKWARD_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_BACKWARD_H

#include "trainer/graph/tensor.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the copy engine finds its way in a matrix: what the driver makes of it, opaque. */
struct tile_map {
    unsigned char bytes[128];
};

/* What precedes the convolution and produced its input y. */
enum conv_backward_form {
    BACKWARD_PLAIN, /* anything: dx = h */
    BACKWARD_NORM,  /* y = relu(x * scale + bias):
                     * dx = h where (x - mean) * invstd * gamma + beta > 0, else 0 */
    BACKWARD_JOIN   /* y = relu(norm of x + another): dx = h + shortcut where y > 0, else 0 */
};

/* With ROWS pixels, OUT channels after the convolution and IN before it:
 *     dz = g * coefficients[0] + z * coefficients[1] + coefficients[2], rounded to the activation
 *     h = dz W, dw = dz^T y
 *     dgamma, dbeta, dx_coefficients: of the norm of x, as launch_norm_coefficients */
struct conv_backward_args {
    /* First, so that they can be aligned. */
    struct tile_map g_map, z_map, w_map, x_map, y_map, shortcut_map, dx_map;
    enum conv_backward_form form;
    const void *g, *z; /* [rows, out] */
    const float *coefficients;
    const void *w;                /* [out, in], of the activation's type */
    const void *x, *y, *shortcut; /* [rows, in]; what a form does not have is NULL */
    const void *scale, *bias;
    const float *gamma, *beta, *mean, *invstd;
    void *dx;
    float *dgamma, *dbeta, *dx_coefficients;
    void *dw;       /* f32, or of the activation's type */
    bool dw_wide;   /* f32 */
    float *partial; /* scratch: launch_conv_backward_bytes */
    size_t rows;
    int in, out;
    int workers; /* blocks that share the rows */
};

/* Returns true if there is a kernel for these channels and this type. */
bool launch_conv_backward_has(enum dtype type, enum conv_backward_form form, int in, int out);
/* How many blocks share ROWS on a device of MULTIPROCESSORS, and the bytes of `partial` then. */
int launch_conv_backward_workers(size_t rows, int in, int multiprocessors);
size_t launch_conv_backward_bytes(int in, int out, int workers);
/* Fills the maps of ARGS from its addresses, sizes and workers: once, before any launch. */
cudaError_t launch_conv_backward_maps(enum dtype type, struct conv_backward_args *args);
/* Always the same bits for the same number of workers. */
cudaError_t launch_conv_backward(cudaStream_t stream, enum dtype type,
                                 const struct conv_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
