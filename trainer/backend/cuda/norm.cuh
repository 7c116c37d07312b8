/* The shape of the batch-norm kernels, and the sum over the rows of a block. */
#ifndef CUDA_NORM_CUH
#define CUDA_NORM_CUH

#include "cuda/vec.cuh"

/* A block is LANES packets of channels wide and ROWS_PER_BLOCK rows high. Eight lanes of 16 bytes
 * are a whole 128-byte line of each row. */
enum { LANES = 8, ROWS_PER_BLOCK = 32 };

/* Adds V over the rows of the block, in a fixed order, and writes the W sums to OUT (each lane has
 * its own OUT). All threads of the block must call it. */
template <int W>
static __device__ __forceinline__ void reduce_rows(const lane<W> &v, bool inside, float *out) {
    __shared__ float sums[ROWS_PER_BLOCK][LANES * W];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < W; k++)
        sums[threadIdx.y][threadIdx.x * W + k] = v.v[k];
    __syncthreads();
    for (unsigned half = ROWS_PER_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.y < half) {
#pragma unroll
            for (int k = 0; k < W; k++)
                sums[threadIdx.y][threadIdx.x * W + k] +=
                    sums[threadIdx.y + half][threadIdx.x * W + k];
        }
        __syncthreads();
    }
    if (threadIdx.y == 0 && inside) {
#pragma unroll
        for (int k = 0; k < W; k++)
            out[k] = sums[0][threadIdx.x * W + k];
    }
}

#endif
