/* Pools: maximum and mean over windows, mean over an image, and their gradients. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

/* Six operators with no memory of their own. Each result is computed by one thread from its inputs
 * alone, so how rows are shared out changes no bit. Gradients are gathered, not scattered: the
 * thread that owns a row of dx looks for the windows that reach it. Adding from the windows' side
 * would need locks where windows overlap.
 *
 * Rows are rows of pixels of the result, counted over all images. */

struct pool_op {
    struct cpu_step step;
    struct pool pool;
    const void *dy;
    char *dx;
    size_t rows;      /* of all images: the result's */
    bool is_gradient; /* of a mean */
};

/* X is the image before the pool and Y the one after it, whichever of them the operator writes.
 * Always 0: it ends the bind functions below. Both directions share one struct pool; its sizes
 * never change after this. */
static int bind_pool(const struct cpu *cpu, const struct op *op, const struct shape *x,
                     const struct shape *y, struct pool_op *bound) {
    (void)cpu;
    bound->pool.channels = (size_t)x->dim[3];
    bound->pool.height = (size_t)x->dim[1];
    bound->pool.width = (size_t)x->dim[2];
    bound->pool.out_height = (size_t)y->dim[1];
    bound->pool.out_width = (size_t)y->dim[2];
    bound->pool.kernel = (size_t)op->attr.window.kernel;
    bound->pool.stride = (size_t)op->attr.window.stride;
    bound->pool.pad = (size_t)op->attr.window.pad;
    return 0;
}

/* A contiguous range of rows of y. */
static void max_rows(void *context, struct share share) {
    const struct pool_op *op = context;
    size_t begin, end;
    share_range(share, op->rows, 1, &begin, &end);
    op->step.cpu->loops->max_pool(&op->pool, begin, end);
}

static int run_max(void *context, struct error *err) {
    (void)err;
    struct pool_op *op = context;
    parallel_run(op->step.cpu->threads, max_rows, op);
    return 0;
}

/* The second output, the index of each maximum, may be absent. */
static int bind_max(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err) {
    struct pool_op *bound = cpu_step_new(cpu, sizeof *bound, run_max, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, 0), *y = cpu_output(graph, op, 0);
    bound->rows = (size_t)(y->shape.dim[0] * y->shape.dim[1]);
    bound->pool = (struct pool){.elem = cpu_elem(x->dtype),
                                .x = addresses->inputs[0],
                                .y = addresses->outputs[0],
                                .index = addresses->outputs[1]};
    return bind_pool(cpu, op, &x->shape, &y->shape, bound);
}

/* A row of dx is cleared and filled by one call, so no pass over dx precedes it. `pool` carries the
 * sizes and the index; dy is the only tensor that is read. */
static void max_grad_rows(void *context, struct share share) {
    const struct pool_op *op = context;
    const struct pool *pool = &op->pool;
    size_t begin, end, bytes = pool->width * pool->channels * elem_size(pool->elem);
    share_range(share, op->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++)
        op->step.cpu->loops->max_pool_grad_row(pool, op->dy, NULL, row, op->dx + row * bytes);
}

/* The result is dx, so `rows` counts its rows here. It writes every element of dx. */
static int run_max_grad(void *context, struct error *err) {
    (void)err;
    struct pool_op *op = context;
    parallel_run(op->step.cpu->threads, max_grad_rows, op);
    return 0;
}

/* The image itself is not needed: the saved index tells where each gradient goes. */
static int bind_max_grad(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    struct pool_op *bound = cpu_step_new(cpu, sizeof *bound, run_max_grad, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *dy = cpu_input(graph, op, 0), *dx = cpu_output(graph, op, 0);
    bound->rows = (size_t)(dx->shape.dim[0] * dx->shape.dim[1]);
    bound->pool = (struct pool){.elem = cpu_elem(dy->dtype), .index = addresses->inputs[1]};
    bound->dy = addresses->inputs[0];
    bound->dx = addresses->outputs[0];
    return bind_pool(cpu, op, &dx->shape, &dy->shape, bound);
}

/* --- means over windows ------------------------------------------------------------------------
 */

/* One function for both directions, as only the loop differs. Rows are those of the result, so no
 * two threads write one row. */
static void window_rows(void *context, struct share share) {
    const struct pool_op *op = context;
    const struct loops *loops = op->step.cpu->loops;
    size_t begin, end;
    share_range(share, op->rows, 1, &begin, &end);
    (op->is_gradient ? loops->avg_pool_grad : loops->avg_pool)(&op->pool, begin, end);
}

static int run_windows(void *context, struct error *err) {
    (void)err;
    struct pool_op *op = context;
    parallel_run(op->step.cpu->threads, window_rows, op);
    return 0;
}

/* Cells outside the image count in the divisor, which is therefore the same for all windows and
 * needs no table. The gradient reads the small image, so the two shapes change places. */
static int bind_windows(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *ret_bound,
                        struct error *err) {
    struct pool_op *bound = cpu_step_new(cpu, sizeof *bound, run_windows, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *from = cpu_input(graph, op, 0), *to = cpu_output(graph, op, 0);
    bound->is_gradient = op->kind == OP_AVG_POOL_GRAD;
    bound->rows = (size_t)(to->shape.dim[0] * to->shape.dim[1]);
    bound->pool = (struct pool){
        .elem = cpu_elem(from->dtype), .x = addresses->inputs[0], .y = addresses->outputs[0]};
    return bind_pool(cpu, op, bound->is_gradient ? &to->shape : &from->shape,
                     bound->is_gradient ? &from->shape : &to->shape, bound);
}

/* --- mean of an image ------------------------------------------------------------------------- */

/* The mean over all pixels, as before a classifier: the result has one row of channels an image. */
struct mean_op {
    struct cpu_step step;
    enum elem elem;
    size_t images, pixels, channels;
    const char *from;
    char *to;
};

/* Images are shared out whole, so threads beyond their number have none. */
static void mean_images(void *context, struct share share) {
    const struct mean_op *op = context;
    size_t begin, end, row = op->channels * elem_size(op->elem);
    share_range(share, op->images, 1, &begin, &end);
    for (size_t image = begin; image < end; image++)
        op->step.cpu->loops->sum_rows(op->from + image * op->pixels * row, op->elem, op->channels,
                                      op->pixels, 1.0F / (float)op->pixels, op->to + image * row);
}

/* Every pixel gets the same share of its image's gradient. The division is done once for each
 * image, as a factor. */
static void spread_images(void *context, struct share share) {
    const struct mean_op *op = context;
    size_t begin, end, row = op->channels * elem_size(op->elem);
    share_range(share, op->images, 1, &begin, &end);
    for (size_t image = begin; image < end; image++)
        op->step.cpu->loops->spread_row(op->from + image * row, op->elem, op->channels, op->pixels,
                                        1.0F / (float)op->pixels,
                                        op->to + image * op->pixels * row);
}

/* In f32 and bf16 alike the sum of an image is made in f32. */
static int run_mean(void *context, struct error *err) {
    (void)err;
    struct mean_op *op = context;
    parallel_run(op->step.cpu->threads, mean_images, op);
    return 0;
}

static int run_spread(void *context, struct error *err) {
    (void)err;
    struct mean_op *op = context;
    parallel_run(op->step.cpu->threads, spread_images, op);
    return 0;
}

/* IMAGE is the tensor with pixels: the input of the mean, or the output of its gradient. */
static int bind_mean_with(const struct cpu *cpu, const struct tensor *image,
                          const struct op_addresses *addresses,
                          int (*run)(void *context, struct error *err),
                          struct backend_bound *ret_bound, struct error *err) {
    struct mean_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->elem = cpu_elem(image->dtype);
    bound->images = (size_t)image->shape.dim[0];
    bound->pixels = (size_t)(image->shape.dim[1] * image->shape.dim[2]);
    bound->channels = cpu_channels(&image->shape);
    bound->from = addresses->inputs[0];
    bound->to = addresses->outputs[0];
    return 0;
}

/* The global mean has no window: OP_AVG_POOL over the whole image is a kind of its own here. */
static int bind_avg(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err) {
    return bind_mean_with(cpu, cpu_input(graph, op, 0), addresses, run_mean, ret_bound, err);
}

/* dy gives no height and width, so sizes come from dx. */
static int bind_avg_grad(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    return bind_mean_with(cpu, cpu_output(graph, op, 0), addresses, run_spread, ret_bound, err);
}

/* No operator here has a query: none needs memory, and none works in place, because windows read
 * pixels that other windows need as well. */
const struct cpu_operator cpu_max_pool = {NULL, NULL, bind_max};
const struct cpu_operator cpu_max_pool_grad = {NULL, NULL, bind_max_grad};
const struct cpu_operator cpu_window_avg_pool = {NULL, NULL, bind_windows};
const struct cpu_operator cpu_window_avg_pool_grad = {NULL, NULL, bind_windows};
const struct cpu_operator cpu_avg_pool = {NULL, NULL, bind_avg};
const struct cpu_operator cpu_avg_pool_grad = {NULL, NULL, bind_avg_grad};
