/* Sums over a block in double, always in the same order. */
#ifndef CUDA_KERNELS_SUM_CUH
#define CUDA_KERNELS_SUM_CUH

#include "trainer/backend/cuda/kernels/vec.cuh"

/* Returns the sum of V over a block of THREADS, to every thread. */
static __device__ __forceinline__ double sum_over_block(double v) {
    __shared__ double values[THREADS];
    __syncthreads();
    values[threadIdx.x] = v;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    return values[0];
}

#endif
