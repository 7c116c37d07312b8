/* Launcher of a 1x1 convolution's backward pass as one kernel. The convolution precedes a norm;
 * devices need the tensor cores and the copy engine of compute capability 9.0. It is callable from
 * C (launch.h). It moves g, z and the tensors before the convolution once, dx once, and its blocks'
 * parts of the weights' gradient; three kernels would move g and z, and what they make of them,
 * five times.
 *
 * Units of memory traffic in ResNet-50's stages 1 and 2, of this kernel and of the three together;
 * a unit is the narrow tensor of 64 or 128 channels. A bottleneck's last convolution moves 10 of
 * 23, the first shortcut's 10 of 22, the first convolution 4 of 7, one after a join 18 of 25, and
 * the first one of stage 2 10 of 15.
 *
 * Two cases have no such kernel. After a join of two norms, sums of two x are needed, so a block
 * would have five tiles of the slice at once, to move 22 of 25 units. A shortcut with stride 2
 * would move 4.5 of 7.5, but its pixels are not the rows of one matrix: the copy engine would need
 * other maps, and zeros would have to be written between its results, to save 2.4 MB a picture of
 * about 190. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_BACKWARD_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_BACKWARD_H

#include "trainer/graph/tensor.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The copy engine's description of a matrix, made by the driver; opaque. */
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
    const void *x, *y, *shortcut; /* [rows, in]; NULL if the form has no such tensor */
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
/* Return the number of blocks that share ROWS on a device of MULTIPROCESSORS, and the bytes of
 * `partial` for them. */
int launch_conv_backward_workers(size_t rows, int in, int multiprocessors);
size_t launch_conv_backward_bytes(int in, int out, int workers);
/* Fills the maps of ARGS from its addresses, sizes and workers: once, before any launch. */
cudaError_t launch_conv_backward_maps(enum dtype type, struct conv_backward_args *args);
/* Enqueues all kernels of the pass. The bits depend on the number of workers alone. */
cudaError_t launch_conv_backward(cudaStream_t stream, enum dtype type,
                                 const struct conv_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
