/* Interface of a convolution kernel, and the tensors of a convolution. Private to
 * trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_KERNEL_H
#define TRAINER_BACKEND_CPU_CONV_CONV_KERNEL_H

#include "trainer/backend/cpu/base/context.h"

struct conv_kernel {
    enum cpu_convs family; /* CPU_CONVS_GEMM and so on: the user's choice that it belongs to */
    /* Returns true if it can compute OP at all. */
    bool (*has)(const struct cpu *cpu, const struct graph *graph, const struct op *op);
    /* Returns true if it is then the fastest one; NULL: always. */
    bool (*wins)(const struct cpu *cpu, const struct graph *graph, const struct op *op);
    int (*query)(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err);
    int (*bind)(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err);
};

extern const struct conv_kernel conv_winograd4_kernel,
    conv_winograd4_weight_kernel; /* f32, 3x3; conv_winograd4.h */
extern const struct conv_kernel conv_bf16_kernel,
    conv_weight_kernel; /* bf16, also weight gradients in f32, with AVX-512 BF16; conv_bf16.h */
extern const struct conv_kernel conv_gemm_kernel, conv_gemm_weight_kernel; /* f32; conv_gemm.c */
extern const struct conv_kernel conv_dnn_kernel, conv_dnn_weight_kernel, conv_dnn_affine_kernel;

/* Returns true if oneDNN's weight gradients of OP can be cut by pictures into enough parts for
 * many threads (conv_dnn_weight.c). */
bool conv_dnn_weight_divides(const struct graph *graph, const struct op *op);

/* Shapes of a convolution or of one of its gradients. */
struct conv_tensors {
    const struct tensor *x, *w, *y;
};

static inline struct conv_tensors conv_tensors_of(const struct graph *graph, const struct op *op) {
    switch (op->kind) {
    case OP_CONV2D_GRAD_DATA:
        return (struct conv_tensors){.x = cpu_output(graph, op, 0),
                                     .w = cpu_input(graph, op, 1),
                                     .y = cpu_input(graph, op, 0)};
    case OP_CONV2D_GRAD_WEIGHT:
        return (struct conv_tensors){.x = cpu_input(graph, op, 1),
                                     .w = cpu_output(graph, op, 0),
                                     .y = cpu_input(graph, op, 0)};
    default:
        return (struct conv_tensors){.x = cpu_input(graph, op, 0),
                                     .w = cpu_input(graph, op, 1),
                                     .y = cpu_output(graph, op, 0)};
    }
}

#endif
