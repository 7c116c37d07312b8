/* One matrix product by cuBLASLt, chosen once, run many times. Matrices are row-major here, at
 * addresses aligned to MATMUL_ALIGNMENT; the library's column-major view of them is this file's
 * business alone. */
#ifndef TRAINER_BACKEND_CUDA_STEPS_MATMUL_H
#define TRAINER_BACKEND_CUDA_STEPS_MATMUL_H

#include "common/error.h"
#include "trainer/graph/tensor.h"

#include <cublasLt.h>
#include <stdbool.h>

/* What cuBLAS's documents advise for Hopper. */
enum { MATMUL_WORKSPACE = 32 * 1024 * 1024 };
/* As a parameter's narrow copy is: half of what the parameter is (backend.h). */
enum { MATMUL_ALIGNMENT = 32 };

/* D [rows, columns] = A B (+ bias over the columns), rectified or not, where A is [rows, inner], or
 * [inner, rows] when transposed, and B is [inner, columns], or [columns, inner] when transposed. */
struct matmul_shape {
    int rows, columns, inner;
    bool transpose_a, transpose_b;
    enum dtype type;   /* of A and B */
    bool tf32;         /* f32 may be rounded to TF32 */
    enum dtype d_type; /* of D */
    const void *bias;  /* device memory, of D's type, or NULL */
    bool relu;         /* D is rectified */
};

struct matmul {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
};

/* HANDLE is NULL for a device that is described (cuda/simulated_gpu.h): no algorithm is chosen
 * then. */
int matmul_init(struct matmul *m, cublasLtHandle_t handle, const struct matmul_shape *shape,
                struct error *err);
void matmul_done(struct matmul *m);
/* Enqueues on STREAM; WORKSPACE is MATMUL_WORKSPACE bytes of device memory. */
int matmul_run(const struct matmul *m, cublasLtHandle_t handle, cudaStream_t stream, const void *a,
               const void *b, void *d, void *workspace, struct error *err);

#endif
