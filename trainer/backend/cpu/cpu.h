/* The CPU backend: convolutions and matrix products by oneDNN, the rest, and the convolutions that
 * gain by it, by loops of its own (cpu/loops.h), all on OpenMP's threads. Activations f32 or bf16,
 * in NHWC; statistics, weights and their gradients f32. Results are the same for the same number of
 * threads and instruction set.
 *
 * Where the processor has no bf16 products (AVX-512 BF16, AMX), those of bf16 values are made
 * in f32: the same roundings of what is kept, at the speed of f32. */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include "backend/backend.h"
#include "common/error.h"

/* Whose convolutions: the fastest ones by measured rules; the same but for Winograd's, which round
 * otherwise than plain sums; or those of one kind wherever it has one, and oneDNN's elsewhere. */
enum cpu_convs {
    CPU_CONVS_AUTO,
    CPU_CONVS_DIRECT,
    CPU_CONVS_ONEDNN,
    CPU_CONVS_OWN, /* bf16 */
    CPU_CONVS_GEMM,
    CPU_CONVS_WINOGRAD
};

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
