#include "trainer/backend/cuda/base/context.h"

/* Pools, each a single launch of kernels/pool.cu. Shapes are always those of the large and the
 * small image (cuda_pool_shape), whichever of them an operator reads; a gradient therefore
 * exchanges input and output. */

struct pool_step {
    struct cuda_step step;
    struct pool_args shape;
    const void *x;
    const uint8_t *index_in;
    uint8_t *index_out;
    void *y;
    int pixels;       /* of the average of an image */
    bool is_gradient; /* of an average over windows */
};

static int run_pool(void *context, struct error *err) {
    struct pool_step *s = context;
    cudaError_t status =
        launch_max_pool(s->step.cuda->stream, s->step.type, &s->shape, s->x, s->y, s->index_out);
    return cuda_step_check(&s->step, status, err);
}

/* The index of the maxima is NULL in inference. */
static int bind_pool(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct pool_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->shape =
        cuda_pool_shape(cuda_input(graph, op, 0), cuda_output(graph, op, 0), &op->attr.window);
    s->x = addresses->inputs[0];
    s->y = addresses->outputs[0];
    s->index_out = addresses->outputs[1];
    bound->step = (struct bound_step){run_pool, s};
    return 0;
}

const struct cuda_rule cuda_pool_rule = {NULL, bind_pool};

static int run_pool_grad(void *context, struct error *err) {
    struct pool_step *s = context;
    cudaError_t status = launch_max_pool_grad(s->step.cuda->stream, s->step.type, &s->shape, s->x,
                                              s->index_in, s->y);
    return cuda_step_check(&s->step, status, err);
}

/* x is dy here, and y is dx. */
static int bind_pool_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct pool_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->shape =
        cuda_pool_shape(cuda_output(graph, op, 0), cuda_input(graph, op, 0), &op->attr.window);
    s->x = addresses->inputs[0];
    s->index_in = addresses->inputs[1];
    s->y = addresses->outputs[0];
    bound->step = (struct bound_step){run_pool_grad, s};
    return 0;
}

const struct cuda_rule cuda_pool_grad_rule = {NULL, bind_pool_grad};

static int run_average(void *context, struct error *err) {
    struct pool_step *s = context;
    cudaError_t status = launch_average_pool(s->step.cuda->stream, s->step.type, s->x, s->y,
                                             s->shape.batch, s->pixels, s->shape.channels);
    return cuda_step_check(&s->step, status, err);
}

static int run_average_grad(void *context, struct error *err) {
    struct pool_step *s = context;
    cudaError_t status = launch_average_pool_grad(s->step.cuda->stream, s->step.type, s->x, s->y,
                                                  s->shape.batch, s->pixels, s->shape.channels);
    return cuda_step_check(&s->step, status, err);
}

static int bind_average(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *bound,
                        struct error *err) {
    struct pool_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    bool forward = op->kind == OP_GLOBAL_AVG_POOL;
    const struct tensor *full = forward ? cuda_input(graph, op, 0) : cuda_output(graph, op, 0);
    s->shape.batch = (int)full->shape.dim[0];
    s->shape.channels = (int)full->shape.dim[3];
    s->pixels = (int)(full->shape.dim[1] * full->shape.dim[2]);
    s->x = addresses->inputs[0];
    s->y = addresses->outputs[0];
    bound->step = (struct bound_step){forward ? run_average : run_average_grad, s};
    return 0;
}

const struct cuda_rule cuda_average_rule = {NULL, bind_average};

static int run_window_average(void *context, struct error *err) {
    struct pool_step *s = context;
    cudaError_t status = launch_window_average(s->step.cuda->stream, s->step.type, &s->shape, s->x,
                                               s->y, s->is_gradient);
    return cuda_step_check(&s->step, status, err);
}

static int bind_window_average(struct cuda *cuda, const struct graph *graph, const struct op *op,
                               const struct op_addresses *addresses, struct backend_bound *bound,
                               struct error *err) {
    struct pool_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *from = cuda_input(graph, op, 0), *to = cuda_output(graph, op, 0);
    s->is_gradient = op->kind == OP_AVG_POOL_GRAD;
    s->shape =
        cuda_pool_shape(s->is_gradient ? to : from, s->is_gradient ? from : to, &op->attr.window);
    s->x = addresses->inputs[0];
    s->y = addresses->outputs[0];
    bound->step = (struct bound_step){run_window_average, s};
    return 0;
}

const struct cuda_rule cuda_window_average_rule = {NULL, bind_window_average};
