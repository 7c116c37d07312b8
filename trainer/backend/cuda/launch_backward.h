/* The launcher of the backward pass of a 1x1 convolution between two norms as one kernel, for
 * devices with the tensor cores and the copy engine of compute capability 9.0; callable from C
 * (launch.h). It moves g, z and x once, dx once, and what its blocks found of the weights'
 * gradient, where three kernels move g and z, and what they make of them, five times. */
#ifndef CUDA_LAUNCH_BACKWARD_H
#define CUDA_LAUNCH_BACKWARD_H

#include "graph/tensor.h"

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

/* With ROWS pixels, OUT channels behind the convolution and IN in front of it:
 *     dz = g * coefficients[0] + z * coefficients[1] + coefficients[2], rounded to the activation
 *     h = dz W, dx = h where (x - mean) * invstd * gamma + beta > 0, else 0
 *     dw = dz^T relu(x * scale + bias)
 *     dgamma, dbeta, dx_coefficients: of the norm in front, as launch_norm_coefficients */
struct conv_backward_args {
    struct tile_map g_map, z_map, w_map, x_map, dx_map; /* first, so that they can be aligned */
    const void *g, *z;                                  /* [rows, out] */
    const float *coefficients;
    const void *w; /* [out, in], of the activation's type */
    const void *x; /* [rows, in] */
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

/* Whether there is a kernel for these channels and this type. */
bool launch_conv_backward_has(enum dtype type, int in, int out);
/* How many blocks share ROWS on a device of MULTIPROCESSORS, and the bytes of `partial` then. */
int launch_conv_backward_workers(size_t rows, int in, int multiprocessors);
size_t launch_conv_backward_bytes(int in, int out, int workers);
/* Fills the maps of ARGS, whose addresses, sizes and workers stand: once, before any launch. */
cudaError_t launch_conv_backward_maps(enum dtype type, struct conv_backward_args *args);
/* Always the same bits for the same number of workers. */
cudaError_t launch_conv_backward(cudaStream_t stream, enum dtype type,
                                 const struct conv_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
