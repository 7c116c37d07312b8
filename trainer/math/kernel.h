/* What every header of this room starts from. Bodies here are written once, in the common subset
 * of C11 and C++17 (no designated initialisers, no compound literals, no VLAs, no restrict), as
 * small inline functions on plain pointers and numbers: the host loops over them, the GPU launches
 * them, and so the arithmetic that runs there is tested everywhere. They allocate nothing, keep no
 * state and cannot fail. */
#ifndef TRAINER_MATH_KERNEL_H
#define TRAINER_MATH_KERNEL_H

#ifdef __CUDACC__
#define KERNEL static __host__ __device__ inline
#else
#define KERNEL static inline
#endif

#endif
