#include "trainer/backend/cpu/conv/conv_kernel.h"

struct conv_tensors conv_tensors_of(const struct graph *graph, const struct op *op) {
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
