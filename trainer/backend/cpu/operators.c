#include "cpu/context.h"

static const struct cpu_operator *const operators[OP_KINDS] = {
    [OP_IMAGE_NORMALIZE] = &cpu_image_normalize,
    [OP_CONV2D] = &cpu_conv_forward,
    [OP_CONV2D_GRAD_DATA] = &cpu_conv_grad_data,
    [OP_CONV2D_GRAD_WEIGHT] = &cpu_conv_grad_weight,
    [OP_BATCH_NORM] = &cpu_norm_forward,
    [OP_BATCH_NORM_RELU] = &cpu_norm_forward,
    [OP_BATCH_NORM_ADD_RELU] = &cpu_norm_forward,
    [OP_BATCH_NORM_DUAL_ADD_RELU] = &cpu_norm_forward,
    [OP_BATCH_NORM_RELU_MAX_POOL] = &cpu_norm_pool,
    [OP_BATCH_NORM_GRAD] = &cpu_norm_grad,
    [OP_BATCH_NORM_RELU_GRAD] = &cpu_norm_grad,
    [OP_BATCH_NORM_ADD_RELU_GRAD] = &cpu_norm_grad,
    [OP_BATCH_NORM_DUAL_ADD_RELU_GRAD] = &cpu_norm_grad,
    [OP_BATCH_NORM_RELU_MAX_POOL_GRAD] = &cpu_norm_pool_grad,
    [OP_BATCH_NORM_INFERENCE] = &cpu_norm_inference,
    [OP_BATCH_NORM_INFERENCE_RELU] = &cpu_norm_inference,
    [OP_BATCH_NORM_INFERENCE_ADD_RELU] = &cpu_norm_inference,
    [OP_BATCH_NORM_INFERENCE_DUAL_ADD_RELU] = &cpu_norm_inference,
    [OP_RELU] = &cpu_relu,
    [OP_RELU_GRAD] = &cpu_relu_grad,
    [OP_ADD] = &cpu_add,
    [OP_ADD_RELU] = &cpu_add_relu,
    [OP_MAX_POOL] = &cpu_max_pool,
    [OP_MAX_POOL_GRAD] = &cpu_max_pool_grad,
    [OP_GLOBAL_AVG_POOL] = &cpu_avg_pool,
    [OP_GLOBAL_AVG_POOL_GRAD] = &cpu_avg_pool_grad,
    [OP_LINEAR] = &cpu_linear_forward,
    [OP_LINEAR_GRAD_DATA] = &cpu_linear_grad_data,
    [OP_LINEAR_GRAD_WEIGHT] = &cpu_linear_grad_weight,
    [OP_CONV2D_GRAD_DATA_NORM] = &cpu_conv_norm_grad,
    [OP_CONV2D_GRAD_DATA_ADD_NORM] = &cpu_conv_norm_grad,
    [OP_CONV2D_GRAD_DATA_ADD_JOIN] = &cpu_conv_norm_grad,
    [OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN] = &cpu_conv_norm_grad,
    [OP_NORM_GRAD_APPLY] = &cpu_norm_grad_apply,
    [OP_SOFTMAX_CROSS_ENTROPY] = &cpu_cross_entropy,
    [OP_SOFTMAX_CROSS_ENTROPY_GRAD] = &cpu_cross_entropy_grad,
};

const struct cpu_operator *cpu_operator(enum op_kind kind) {
    return operators[kind];
}

int cpu_query_in_place(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)graph;
    (void)op;
    (void)err;
    ret_needs->in_place = true;
    return 0;
}
