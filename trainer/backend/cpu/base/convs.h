/* The user's choice of convolution kernels of the CPU backend. */
#ifndef TRAINER_BACKEND_CPU_BASE_CONVS_H
#define TRAINER_BACKEND_CPU_BASE_CONVS_H

/* The fastest kernels by measured rules; the same without Winograd, which rounds differently from
 * plain sums; or those of one kind wherever it is available, and oneDNN's elsewhere. */
enum cpu_convs {
    CPU_CONVS_AUTO,
    CPU_CONVS_DIRECT,
    CPU_CONVS_ONEDNN,
    CPU_CONVS_OWN, /* bf16 */
    CPU_CONVS_GEMM,
    CPU_CONVS_WINOGRAD
};

#endif
