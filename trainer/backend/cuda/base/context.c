#include "trainer/backend/cuda/base/context.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/base/launches.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What every step of the backend needs: its allocation and release, errors with the operator's name
 * and shape, sizes of tensors as matrices, the parameters' half-precision copy, and folds that
 * share launches. The rooms dnn, steps and optional are built on it. It knows no operator except
 * where gradients may stay in half precision. */

/* The name and the shape of the first input are copied, as the graph may be gone when a step
 * fails. */
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

/* What the step owns is freed by its own `done`. */
void cuda_step_free(struct cuda_step *step) {
    if (step->done != NULL)
        step->done(step);
    free(step);
}

/* The text is "NAME: CUDA: SHAPE: reason". Returns -1 after a failure. */
int cuda_step_check(const struct cuda_step *step, cudaError_t status, struct error *err) {
    if (status == cudaSuccess)
        return 0;
    (void)cuda_error(status, step->shape, err);
    return error_wrap(err, "%s", step->name);
}

/* Only library calls ask; launches of own kernels are counted by vec.cuh. On a real device it is
 * always false. */
bool cuda_is_counted(struct cuda *cuda) {
    if (cuda->counted == NULL)
        return false;
    cuda->counted->products++;
    return true;
}

/* Which inputs and outputs may share memory is in the operator table. */
int cuda_query_in_place(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)graph;
    (void)op;
    (void)err;
    needs->in_place = true;
    return 0;
}

/* NULL for an absent slot. */
static const struct tensor *tensor_of(const struct graph *graph, int number) {
    return number == TENSOR_NONE ? NULL : &graph->tensors[number];
}

const struct tensor *cuda_input(const struct graph *graph, const struct op *op, int slot) {
    return tensor_of(graph, op->inputs[slot]);
}

const struct tensor *cuda_output(const struct graph *graph, const struct op *op, int slot) {
    return tensor_of(graph, op->outputs[slot]);
}

/* The last dimension, whatever the rank. */
int cuda_channels(const struct tensor *tensor) {
    return (int)tensor->shape.dim[tensor->shape.rank - 1];
}

/* All dimensions but the last: pixels of all images. */
size_t cuda_rows(const struct tensor *tensor) {
    return (size_t)(tensor_count(tensor) / cuda_channels(tensor));
}

/* Query and bind must get the same number, as scratch is measured by it. */
int cuda_norm_chunks(const struct cuda *cuda, const struct tensor *tensor) {
    return launch_norm_chunks(cuda_rows(tensor), cuda_channels(tensor), cuda->multiprocessors);
}

/* Constants and gradients are not in the copy; in f32 there is none. */
bool cuda_has_half(const struct graph *graph, const struct tensor *tensor) {
    return tensor->role == TENSOR_PARAMETER && dtype_size(graph->dtype) < sizeof(float);
}

/* The copy has the arena's order, so the element's number in the arena is its number in the
 * copy. */
void *cuda_half(const struct graph *graph, const struct op_addresses *addresses,
                const void *address) {
    const struct half_copy *copy = &addresses->half_copy;
    return (char *)copy->half +
           (size_t)((const float *)address - copy->wide) * dtype_size(graph->dtype);
}

/* Returns the output's slot, or -1 if that gradient must be f32: in f32 networks, and where the
 * number of channels that cuDNN writes differs from the weights'. */
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

/* In both directions of a pool, so that a gradient sees the shapes of its forward pass. Batch and
 * channels are those of FULL. */
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

/* An arena aligns scratch to BACKEND_ALIGNMENT, so the room for moving it up to the library's
 * alignment is the difference. */
size_t cuda_workspace_bytes(size_t bytes) {
    size_t whole = backend_aligned(bytes);
    return whole == 0 ? 0 : whole + CUDA_WORKSPACE_ALIGNMENT - BACKEND_ALIGNMENT;
}

/* SCRATCH may be NULL, which stays NULL. */
void *cuda_workspace(void *scratch) {
    size_t past = (uintptr_t)scratch % CUDA_WORKSPACE_ALIGNMENT;
    return past == 0 ? scratch : (char *)scratch + (CUDA_WORKSPACE_ALIGNMENT - past);
}

/* The list is emptied even if the launch fails, so that a later refresh starts anew. */
int folds_launch(struct cuda *cuda, struct error *err) {
    const int count = cuda->folds.count;
    cuda->folds.count = 0;
    if (count == 0)
        return 0;
    const cudaError_t status = launch_fold(cuda->stream, cuda->folds.type, cuda->folds.args, count);
    return status == cudaSuccess ? 0 : cuda_error(status, "folding norms into weights", err);
}

/* A launch has one type and at most LAUNCH_FOLDS_MAX folds: either limit sends what is pending
 * first. */
int folds_add(struct cuda *cuda, enum dtype type, const struct fold_args *args, struct error *err) {
    struct folds_pending *folds = &cuda->folds;
    if ((folds->count == LAUNCH_FOLDS_MAX || folds->type != type) && folds_launch(cuda, err) != 0)
        return -1;
    folds->type = type;
    folds->args[folds->count++] = *args;
    return 0;
}
