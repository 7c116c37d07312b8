/* Backend for CPUs with oneDNN: convolutions and matrix products by oneDNN; everything else, and
 * convolutions where they are faster, by its own kernels (kernels/loops.h); all on OpenMP's
 * threads.
 *
 * Activations are f32 or bf16, in NHWC; statistics, weights and their gradients f32. Results are
 * the same for the same instruction set, whatever the number of threads, except for oneDNN's data
 * gradients and weight gradients of large layers in bf16 and, without AVX-512, its matrix
 * products.
 *
 * If the processor has no bf16 products (AVX-512 BF16, AMX), those of bf16 values are computed in
 * f32: stored values are rounded the same, at the speed of f32. */
#ifndef TRAINER_BACKEND_CPU_CPU_H
#define TRAINER_BACKEND_CPU_CPU_H

#include "common/error.h"
#include "trainer/backend/cpu/base/convs.h"
#include "trainer/graph/backend.h"

struct cpu_options {
    int threads; /* for each operator; at least 1 */
    enum cpu_convs convs;
};

enum { CPU_THREADS_MAX = 1024 };

/* Close RET with backend_close. */
int cpu_open(struct backend **ret, const struct cpu_options *options, struct error *err);

/* Returns "oneDNN 3.2.0 avx512_core_bf16, loops avx512bf16": what this machine would use. Never
 * NULL. */
const char *cpu_describe_machine(void);

#endif
