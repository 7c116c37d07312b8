#include "trainer/backend/cpu/conv/conv_operators.h"

/* The first one that has the operator, is allowed and wins is used. */
static const struct conv_kernel *const kernels[] = {
    &conv_winograd4_kernel,  &conv_winograd4_weight_kernel,
    &conv_bf16_kernel,       &conv_weight_kernel,
    &conv_gemm_kernel,       &conv_gemm_weight_kernel,
    &conv_dnn_kernel,        &conv_dnn_weight_kernel,
    &conv_dnn_affine_kernel,
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

/* Returns true if the user's choice allows the kernel for OP. Kernels other than oneDNN's have no
 * groups, and their windows are square. */
static bool is_chosen(const struct conv_kernel *kernel, const struct cpu *cpu,
                      const struct graph *graph, const struct op *op) {
    if (kernel->family == CPU_CONVS_ONEDNN)
        return true;
    if (!op_window_is_plain(&op->attr.window))
        return false;
    if (kernel->family == cpu->convs)
        return true;
    if (cpu->convs == CPU_CONVS_DIRECT && kernel->family == CPU_CONVS_WINOGRAD)
        return false;
    return (cpu->convs == CPU_CONVS_AUTO || cpu->convs == CPU_CONVS_DIRECT) &&
           (kernel->wins == NULL || kernel->wins(cpu, graph, op));
}

const struct conv_kernel *conv_kernel_of(const struct cpu *cpu, const struct graph *graph,
                                         const struct op *op) {
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i]->has(cpu, graph, op) && is_chosen(kernels[i], cpu, graph, op))
            return kernels[i];
    return NULL;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    return conv_kernel_of(cpu, graph, op)->query(cpu, graph, op, ret_needs, err);
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    return conv_kernel_of(cpu, graph, op)->bind(cpu, graph, op, addresses, ret_bound, err);
}

/* In training the own bf16 kernels leave the epilogue apart: its fused backward pass was not
 * measured for them. */
static bool has_affine(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    return !graph->training || conv_kernel_of(cpu, graph, op) != &conv_bf16_kernel;
}

const struct cpu_operator cpu_conv_forward = {NULL, query, bind};
const struct cpu_operator cpu_conv_grad_data = {NULL, query, bind};
const struct cpu_operator cpu_conv_grad_weight = {NULL, query, bind};
const struct cpu_operator cpu_conv_affine = {has_affine, query, bind};
