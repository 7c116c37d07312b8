/* The CPU backend: convolutions and matrix products by oneDNN, the rest, and the convolutions that
 * gain by it, by loops of its own (kernels/loops.h), all on OpenMP's threads. Activations f32 or
 * bf16, in NHWC; statistics, weights and their gradients f32. Results are the same for the same
 * instruction set, whatever the number of threads: but for oneDNN's data gradients and weight
 * gradients of large layers in bf16 and, without AVX-512, its matrix products.
 *
 * Where the processor has no bf16 products (AVX-512 BF16, AMX), those of bf16 values are made
 * in f32: the same roundings of what is kept, at the speed of f32. */
#ifndef TRAINER_BACKEND_CPU_CPU_H
#define TRAINER_BACKEND_CPU_CPU_H

#include "common/error.h"
#include "trainer/backend/cpu/base/convs.h"
#include "trainer/graph/backend.h"

struct cpu_options {
    int threads; /* of each operator; at least 1 */
    enum cpu_convs convs;
};

enum { CPU_THREADS_MAX = 1024 };

/* RET is closed with backend_close. */
int cpu_open(struct backend **ret, const struct cpu_options *options, struct error *err);

/* "oneDNN 3.2.0 avx512_core_bf16, loops avx512bf16": what this machine would run. Never NULL. */
const char *cpu_describe_machine(void);

#endif
