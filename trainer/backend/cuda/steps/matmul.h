/* Matrix product by cuBLASLt, chosen once, run many times. Matrices here are row-major, at
 * addresses aligned to MATMUL_ALIGNMENT; the library's column-major view is hidden in this file. */
#ifndef TRAINER_BACKEND_CUDA_STEPS_MATMUL_H
#define TRAINER_BACKEND_CUDA_STEPS_MATMUL_H

#include "common/error.h"
#include "trainer/graph/tensor.h"

#include <cublasLt.h>
#include <stdbool.h>

/* As cuBLAS's documentation recommends for Hopper. */
enum { MATMUL_WORKSPACE = 32 * 1024 * 1024 };
/* The alignment of a parameter's half-precision copy: half that of the parameter (backend.h). */
enum { MATMUL_ALIGNMENT = 32 };

/* D [rows, columns] = A B (+ bias over the columns), with or without a ReLU. A is [rows, inner],
 * or [inner, rows] if transposed; B is [inner, columns], or [columns, inner] if transposed. */
struct matmul_shape {
    int rows, columns, inner;
    bool transpose_a, transpose_b;
    enum dtype type;   /* of A and B */
    bool tf32;         /* f32 may be rounded to TF32 */
    enum dtype d_type; /* of D */
    const void *bias;  /* device memory, of D's type, or NULL */
    bool relu;         /* apply a ReLU to D */
};

struct matmul {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
};

/* HANDLE is NULL for a simulated device (cuda/simulated_gpu.h): then no algorithm is chosen. */
int matmul_init(struct matmul *m, cublasLtHandle_t handle, const struct matmul_shape *shape,
                struct error *err);
void matmul_done(struct matmul *m);
/* Enqueues on STREAM; WORKSPACE is MATMUL_WORKSPACE bytes of device memory. */
int matmul_run(const struct matmul *m, cublasLtHandle_t handle, cudaStream_t stream, const void *a,
               const void *b, void *d, void *workspace, struct error *err);

#endif
