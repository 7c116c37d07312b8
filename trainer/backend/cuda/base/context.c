#include "trainer/backend/cuda/base/context.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/base/launches.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *cuda_step_new(struct cuda *cuda, const struct graph *graph, const struct op *op, size_t size,
                    struct error *err) {
    struct cuda_step *step = calloc(1, size);
    if (step == NULL) {
        (void)error_no_memory(err, op->name);
        return NULL;
    }
    step->cuda = cuda;
    step->type = graph->dtype;
    memcpy(step->name, op->name, sizeof(step->name));
    (void)shape_text(&cuda_input(graph, op, 0)->shape, step->shape);
    return step;
}

void cuda_step_free(struct cuda_step *step) {
    if (step->done != NULL)
        step->done(step);
    free(step);
}

int cuda_step_check(const struct cuda_step *step, cudaError_t status, struct error *err) {
    if (status == cudaSuccess)
        return 0;
    (void)cuda_error(status, step->shape, err);
    return error_wrap(err, "%s", step->name);
}

bool cuda_is_counted(struct cuda *cuda) {
    if (cuda->counted == NULL)
        return false;
    cuda->counted->products++;
    return true;
}

int cuda_query_in_place(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)graph;
    (void)op;
    (void)err;
    needs->in_place = true;
    return 0;
}

static const struct tensor *tensor_of(const struct graph *graph, int number) {
    return number == TENSOR_NONE ? NULL : &graph->tensors[number];
}

const struct tensor *cuda_input(const struct graph *graph, const struct op *op, int slot) {
    return tensor_of(graph, op->inputs[slot]);
}

const struct tensor *cuda_output(const struct graph *graph, const struct op *op, int slot) {
    return tensor_of(graph, op->outputs[slot]);
}

int cuda_channels(const struct tensor *tensor) {
    return (int)tensor->shape.dim[tensor->shape.rank - 1];
}

size_t cuda_rows(const struct tensor *tensor) {
    return (size_t)(tensor_count(tensor) / cuda_channels(tensor));
}

int cuda_norm_chunks(const struct cuda *cuda, const struct tensor *tensor) {
    return launch_norm_chunks(cuda_rows(tensor), cuda_channels(tensor), cuda->multiprocessors);
}

bool cuda_has_half(const struct graph *graph, const struct tensor *tensor) {
    return tensor->role == TENSOR_PARAMETER && dtype_size(graph->dtype) < sizeof(float);
}

void *cuda_half(const struct graph *graph, const struct op_addresses *addresses,
                const void *address) {
    const struct half_copy *copy = &addresses->half_copy;
    return (char *)copy->half +
           (size_t)((const float *)address - copy->wide) * dtype_size(graph->dtype);
}

int cuda_half_gradient(const struct backend *backend, const struct graph *graph,
                       const struct op *op) {
    (void)backend;
    if (dtype_size(graph->dtype) >= sizeof(float))
        return -1;
    switch (op->kind) {
    case OP_CONV2D_BACKWARD:
    case OP_CONV2D_BACKWARD_NORM:
    case OP_CONV2D_BACKWARD_JOIN:
        return CONV_BACKWARD_DW;
    case OP_CONV2D_GRAD_WEIGHT:
    case OP_CONV2D_GRAD_WEIGHT_AFFINE:
    case OP_NORM_CONV2D_GRAD_WEIGHT:
        /* Not the stem: its picture has one channel more than its weights. */
        return cuda_channels(cuda_input(graph, op, 1)) ==
                       op_window_groups(&op->attr.window) * cuda_channels(cuda_output(graph, op, 0))
                   ? 0
                   : -1;
    default:
        return -1;
    }
}

struct pool_args cuda_pool_shape(const struct tensor *full, const struct tensor *small,
                                 const struct op_window *window) {
    return (struct pool_args){.batch = (int)full->shape.dim[0],
                              .height = (int)full->shape.dim[1],
                              .width = (int)full->shape.dim[2],
                              .channels = (int)full->shape.dim[3],
                              .out_height = (int)small->shape.dim[1],
                              .out_width = (int)small->shape.dim[2],
                              .kernel = window->kernel,
                              .stride = window->stride,
                              .pad = window->pad};
}

size_t cuda_workspace_bytes(size_t bytes) {
    size_t whole = backend_aligned(bytes);
    return whole == 0 ? 0 : whole + CUDA_WORKSPACE_ALIGNMENT - BACKEND_ALIGNMENT;
}

void *cuda_workspace(void *scratch) {
    size_t past = (uintptr_t)scratch % CUDA_WORKSPACE_ALIGNMENT;
    return past == 0 ? scratch : (char *)scratch + (CUDA_WORKSPACE_ALIGNMENT - past);
}

int folds_launch(struct cuda *cuda, struct error *err) {
    const int count = cuda->folds.count;
    cuda->folds.count = 0;
    if (count == 0)
        return 0;
    const cudaError_t status = launch_fold(cuda->stream, cuda->folds.type, cuda->folds.args, count);
    return status == cudaSuccess ? 0 : cuda_error(status, "folding norms into weights", err);
}

int folds_add(struct cuda *cuda, enum dtype type, const struct fold_args *args, struct error *err) {
    struct folds_pending *folds = &cuda->folds;
    if ((folds->count == LAUNCH_FOLDS_MAX || folds->type != type) && folds_launch(cuda, err) != 0)
        return -1;
    folds->type = type;
    folds->args[folds->count++] = *args;
    return 0;
}
