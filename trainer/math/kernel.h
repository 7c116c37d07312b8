/* Macro that every header of this folder uses. Functions here are written once, in the common
 * subset of C11 and C++17 (no designated initializers, no compound literals, no VLAs, no
 * restrict), as small inline functions on plain pointers and numbers: the host calls them in loops
 * and the GPU in kernels, so tests on the host cover the GPU's arithmetic. They allocate nothing,
 * keep no state and cannot fail. */
#ifndef TRAINER_MATH_KERNEL_H
#define TRAINER_MATH_KERNEL_H

#ifdef __CUDACC__
#define KERNEL static __host__ __device__ inline
#else
#define KERNEL static inline
#endif

#endif
