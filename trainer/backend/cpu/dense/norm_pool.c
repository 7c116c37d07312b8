/* Batch norm + ReLU + max pool in one operator, and its gradient: the stem of a ResNet, without
 * storing its normalized image. The gradient scatters dy to one row of the image at a time, in a
 * buffer of the thread, and sums or writes it from there. */
#include "trainer/backend/cpu/dense/norm.h"

/* In a ResNet-50 the stem's normalized image is among the largest activations, and only its maxima
 * are used. The forward pass normalizes while it takes maxima: twice, once for the statistics and
 * once for the pool, it reads x and writes the small result. The gradient recomputes what it needs
 * from x.
 *
 * The index of each maximum, a byte, is the only thing saved beside the statistics
 * (NORM_POOL_INDEX). norm_forward.c and norm_grad.c call this file for operators of the form with a
 * pool. */

struct pool_op {
    struct cpu_step step;
    struct norm_size size;
    struct norm_branch branch;
    struct pool pool;
    size_t out_rows;
    char *scratch;
};

/* Sizes alone; x is the large image and y the small one, in both directions. */
static struct pool pool_of(const struct op *op, const struct shape *x, const struct shape *y,
                           enum elem elem) {
    return (struct pool){.elem = elem,
                         .channels = (size_t)x->dim[3],
                         .height = (size_t)x->dim[1],
                         .width = (size_t)x->dim[2],
                         .out_height = (size_t)y->dim[1],
                         .out_width = (size_t)y->dim[2],
                         .kernel = (size_t)op->attr.window.kernel,
                         .stride = (size_t)op->attr.window.stride,
                         .pad = (size_t)op->attr.window.pad};
}

/* No memory for the normalized image. */
int norm_pool_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                    struct backend_needs *ret_needs) {
    ret_needs->scratch =
        norm_forward_scratch(cpu, cpu_channels(&cpu_input(graph, op, NORM_X)->shape));
    return 0;
}

/* Rows of the small image, over all images of the batch. Windows overlap, so neighbours read some
 * rows of x twice. */
static void pool_rows(void *context, struct share share) {
    const struct pool_op *op = context;
    size_t begin, end;
    share_range(share, op->out_rows, 1, &begin, &end);
    op->step.cpu->loops->max_pool(&op->pool, begin, end);
}

/* The factors must be complete before the first maximum is taken, because a negative gamma turns
 * the order of a channel's values round. */
static int run(void *context, struct error *err) {
    (void)err;
    struct pool_op *op = context;
    norm_use_batch(op->step.cpu, &op->size, &op->branch, op->scratch);
    parallel_run(op->step.cpu->threads, pool_rows, op);
    return 0;
}

/* The pool's scale and shift point into scratch, where norm_use_batch() writes them before each
 * use. */
int norm_pool_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                   const struct op_addresses *addresses, struct backend_bound *ret_bound,
                   struct error *err) {
    struct pool_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, NORM_X), *y = cpu_output(graph, op, NORM_Y);
    bound->size = (struct norm_size){.elem = cpu_elem(x->dtype),
                                     .rows = cpu_rows(&x->shape),
                                     .channels = cpu_channels(&x->shape),
                                     .epsilon = op->attr.epsilon,
                                     .momentum = op->attr.momentum};
    bound->branch = (struct norm_branch){.x = addresses->inputs[NORM_X],
                                         .gamma = addresses->inputs[NORM_GAMMA],
                                         .beta = addresses->inputs[NORM_BETA],
                                         .mean = addresses->inputs[NORM_MEAN],
                                         .variance = addresses->inputs[NORM_VARIANCE],
                                         .saved_mean = addresses->outputs[NORM_SAVED_MEAN],
                                         .saved_invstd = addresses->outputs[NORM_SAVED_INVSTD]};
    norm_forward_place(cpu, bound->size.channels, addresses->scratch, 0, &bound->branch);
    bound->scratch = addresses->scratch;
    bound->pool = pool_of(op, &x->shape, &y->shape, bound->size.elem);
    bound->pool.x = addresses->inputs[NORM_X];
    bound->pool.scale = bound->branch.scale;
    bound->pool.shift = bound->branch.shift;
    bound->pool.y = addresses->outputs[NORM_Y];
    bound->pool.index = addresses->outputs[NORM_POOL_INDEX];
    bound->out_rows = (size_t)(y->shape.dim[0] * y->shape.dim[1]);
    return 0;
}

/* --- gradient --------------------------------------------------------------------------------- */

/* Two passes over x: sums for the norm, then dx. Both scatter the same rows of dy again, as a
 * buffer of one row costs less than an image of gradients. */
struct pool_grad {
    struct cpu_step step;
    struct norm_grad_branch branch;
    struct pool pool;
    const void *dy, *dy2;
    struct norm_backward form; /* of the whole image; rows are cut out of it */
    size_t rows;               /* of all images */
    size_t row_bytes;
    char *scratch, *buffers;
};

/* A buffer of one row of x for each thread. In place, each row of x is read before that row of dx
 * is written. */
int norm_pool_grad_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         struct backend_needs *ret_needs) {
    const struct shape *x = &cpu_input(graph, op, NORM_GRAD_X)->shape;
    size_t row = norm_row_bytes((size_t)(x->dim[2] * x->dim[3]));
    ret_needs->scratch = norm_grad_scratch(cpu, cpu_channels(x)) + row * (size_t)cpu->threads;
    ret_needs->in_place = true;
    return 0;
}

/* Scatters dy (and dy2, if there is a second reader) into the thread's buffer for image row ROW,
 * and returns the form for exactly this row. */
static struct norm_backward row_form(const struct pool_grad *grad, int thread, size_t row) {
    struct norm_backward form = grad->form;
    size_t width = grad->pool.width * grad->pool.channels * elem_size(grad->pool.elem);
    char *buffer = grad->buffers + grad->row_bytes * (size_t)thread;
    grad->step.cpu->loops->max_pool_grad_row(&grad->pool, grad->dy, grad->dy2, row, buffer);
    form.dy = buffer;
    form.x = (const char *)form.x + row * width;
    form.dx = (char *)form.dx + row * width;
    return form;
}

/* Rows here are rows of the image, each of `width` pixels. */
static void add_rows(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    const struct pool_grad *grad = context;
    struct norm_grad_sums sums = {.dz = sum[0], .dz_x = sum[1]};
    for (size_t row = begin; row < end; row++) {
        struct norm_backward form = row_form(grad, thread, row);
        grad->step.cpu->loops->norm_backward_sums(&form, &sums, 0, grad->pool.width);
    }
}

/* Backwards, as the end of x was read last. The mask of the ReLU is recomputed from x. */
static void spread_rows(void *context, struct share share) {
    const struct pool_grad *grad = context;
    size_t begin, end;
    share_range(share, grad->rows, 1, &begin, &end);
    for (size_t row = end; row-- > begin;) {
        struct norm_backward form = row_form(grad, share.index, row);
        grad->step.cpu->loops->norm_backward(&form, 0, grad->pool.width);
    }
}

/* A block is about REDUCE_ROWS pixels, in whole rows of the image. The second pass is left out if
 * dx is not needed. */
static int run_grad(void *context, struct error *err) {
    (void)err;
    struct pool_grad *grad = context;
    const struct cpu *cpu = grad->step.cpu;
    size_t width = grad->pool.width, channels = grad->pool.channels;
    struct reduce reduce = {.cpu = cpu,
                            .rows = grad->rows,
                            .block = REDUCE_ROWS / width + 1,
                            .channels = channels,
                            .sums = 2,
                            .add = add_rows,
                            .context = grad,
                            .scratch = grad->scratch};
    norm_grad_reduce(&reduce, grad->rows * width, &grad->branch, 1);
    if (grad->form.dx != NULL)
        parallel_run(cpu->threads, spread_rows, grad);
    return 0;
}

/* NORM_GRAD_Y is the index of the maxima here, not the output: the graph passes the bytes in that
 * slot. */
int norm_pool_grad_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *ret_bound,
                        struct error *err) {
    struct pool_grad *grad = cpu_step_new(cpu, sizeof *grad, run_grad, NULL, ret_bound, err);
    if (grad == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, NORM_GRAD_X);
    const struct tensor *dy = cpu_input(graph, op, NORM_GRAD_DY);
    size_t channels = cpu_channels(&x->shape);
    grad->pool = pool_of(op, &x->shape, &dy->shape, cpu_elem(x->dtype));
    grad->pool.index = addresses->inputs[NORM_GRAD_Y];
    grad->dy = addresses->inputs[NORM_GRAD_DY];
    grad->dy2 = addresses->inputs[NORM_GRAD_DY2];
    grad->rows = (size_t)(x->shape.dim[0] * x->shape.dim[1]);
    grad->row_bytes = norm_row_bytes((size_t)(x->shape.dim[2] * x->shape.dim[3]));
    grad->scratch = addresses->scratch;
    grad->buffers = grad->scratch + norm_grad_scratch(cpu, channels);
    grad->branch = (struct norm_grad_branch){.gamma = addresses->inputs[NORM_GRAD_GAMMA],
                                             .beta = addresses->inputs[NORM_GRAD_BETA],
                                             .mean = addresses->inputs[NORM_GRAD_MEAN],
                                             .invstd = addresses->inputs[NORM_GRAD_INVSTD],
                                             .dgamma = addresses->outputs[NORM_GRAD_DGAMMA],
                                             .dbeta = addresses->outputs[NORM_GRAD_DBETA]};
    norm_grad_place(cpu, channels, addresses->scratch, 0, &grad->branch);
    grad->form = (struct norm_backward){.elem = grad->pool.elem,
                                        .channels = channels,
                                        .relu = true,
                                        .x = addresses->inputs[NORM_GRAD_X],
                                        .scale = grad->branch.scale,
                                        .shift = grad->branch.shift,
                                        .mean = grad->branch.mean,
                                        .a = grad->branch.a,
                                        .b = grad->branch.b,
                                        .c = grad->branch.c,
                                        .dx = addresses->outputs[NORM_GRAD_DX]};
    return 0;
}
