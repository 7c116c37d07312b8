/* Data gradients with the ReLU mask and the reductions of the norm before the convolution, and the
 * rest of that norm's gradient. As soon as a part of the data gradient is computed, and while it
 * is in the caches, the sum with the shortcut is masked in place and added up; the memory for that
 * is prefetched during the products. How sums are cut depends on the shape; how many of their
 * pieces a thread processes together, on the number of threads. */
#include "trainer/backend/cpu/conv/conv_bf16.h"
#include "trainer/backend/cpu/dense/norm.h"

/* The obvious way, three operators (data gradient, sum and mask, reductions), reads and writes the
 * tensor g once more for each. Here reduce_run() calls back with a range of rows, the convolution
 * makes them, and they are added up at once. Coefficients a, b and c for the second pass (dx = g *
 * a + x * b + c) are outputs; the operator after it, in this file too, applies them.
 *
 * A residual block may end in the sum of two norms. Then there are two branches with their own
 * reductions over one g (OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN). The patterns are in
 * graph/fuse/fuse_grad.c. */

struct fused {
    struct cpu_step step;
    struct conv_bf16 conv;
    size_t rows, channels;
    int branches;
    struct norm_grad_branch branch[2];
    struct norm_backward norm;
    char *scratch;
};

/* The join of two norms, as at the end of a block that has a convolution in its shortcut. */
static bool is_dual(const struct op *op) {
    return op->kind == OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN;
}

/* The reductions' scratch comes first, then the convolution's, thread by thread. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_bf16 conv;
    conv_bf16_plan(&conv, cpu, graph, op);
    ret_needs->scratch = norm_grad_scratch(cpu, cpu_channels(&cpu_output(graph, op, 0)->shape)) +
                         conv.scratch * (size_t)cpu->threads;
    ret_needs->packed = conv_bf16_packed(&conv);
    return 0;
}

/* Masks rows [BEGIN, END) of g in place and adds the sums of both branches. */
static void add_pixels(const struct fused *fused, float *const *sum, size_t begin, size_t end) {
    struct norm_grad_sums sums = {.dz = sum[0], .dz_x = sum[1], .dz_other = sum[2]};
    fused->step.cpu->loops->norm_backward_sums(&fused->norm, &sums, begin, end);
}

/* The 1x1 product makes POINT_ROWS rows at a time, which stay in the L1 cache until they are added
 * up. */
static void add_rows(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    (void)thread;
    const struct fused *fused = context;
    for (size_t next; begin < end; begin = next) {
        next = end - begin > POINT_ROWS ? begin + POINT_ROWS : end;
        fused->step.cpu->loops->point_run(&fused->conv.point, begin, next);
        add_pixels(fused, sum, begin, next);
    }
}

/* Winograd makes whole lines of tiles for a group of pieces, before the pieces are added one by
 * one: a line has two rows of pixels, and a pass over the weights pays only for many of them. The
 * lines' pixels are in g when this returns. */
static void make_lines(void *context, int thread, size_t begin, size_t end) {
    conv_bf16_lines(&((const struct fused *)context)->conv, thread, begin, end);
}

/* Rows of the reduction are lines of tiles here, so boundaries are converted into pixels. */
static void add_lines(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    (void)thread;
    const struct fused *fused = context;
    add_pixels(fused, sum, conv_bf16_line_pixel(&fused->conv, begin),
               conv_bf16_line_pixel(&fused->conv, end));
}

/* For Winograd a block is REDUCE_ROWS pixels expressed in lines, rounded up, and a group is as many
 * pieces as one unit of the convolution has. A group of 0 counts as 1 (reduce.h). */
static int run(void *context, struct error *err) {
    (void)err;
    struct fused *fused = context;
    struct reduce reduce = {.cpu = fused->step.cpu,
                            .rows = fused->rows,
                            .block = REDUCE_ROWS,
                            .grain = POINT_GRAIN,
                            .channels = fused->channels,
                            .sums = 1 + fused->branches,
                            .add = add_rows,
                            .context = fused,
                            .scratch = fused->scratch};
    if (!fused->conv.is_point) {
        reduce.rows = fused->conv.lines;
        reduce.block = REDUCE_ROWS * fused->conv.lines / fused->rows + 1;
        reduce.grain = 1;
        reduce.add = add_lines;
        reduce.make = make_lines;
        reduce.group = reduce_pieces(&reduce) / fused->conv.units;
    }
    norm_grad_reduce(&reduce, fused->rows, fused->branch, fused->branches);
    return 0;
}

static int refresh(void *context, struct error *err) {
    (void)err;
    conv_bf16_refresh(&((struct fused *)context)->conv);
    return 0;
}

/* The coefficients are the branch's factors a, b and c. Both branches have the same slots, in the
 * same order, from GAMMA and from DGAMMA on. */
static void place_branch(struct fused *fused, const struct op_addresses *addresses, int index) {
    struct norm_grad_branch *branch = &fused->branch[index];
    int in = index == 0 ? GRAD_DATA_NORM_GAMMA : GRAD_DATA_NORM_GAMMA2;
    int out = index == 0 ? GRAD_DATA_NORM_DGAMMA : GRAD_DATA_NORM_DGAMMA2;
    *branch = (struct norm_grad_branch){.gamma = addresses->inputs[in],
                                        .beta = addresses->inputs[in + 1],
                                        .mean = addresses->inputs[in + 2],
                                        .invstd = addresses->inputs[in + 3],
                                        .dgamma = addresses->outputs[out],
                                        .dbeta = addresses->outputs[out + 1]};
    norm_grad_place(fused->step.cpu, fused->channels, addresses->scratch, index, branch);
    branch->a = addresses->outputs[out + 2];
    branch->b = branch->a + fused->channels;
    branch->c = branch->b + fused->channels;
}

/* G is both what the convolution writes and what is masked in place. Without a second branch its
 * factors are NULL, so the side is added unscaled. */
static struct norm_backward norm_of(const struct fused *fused,
                                    const struct op_addresses *addresses) {
    return (struct norm_backward){.elem = ELEM_BF16,
                                  .channels = fused->channels,
                                  .relu = true,
                                  .dy = addresses->outputs[GRAD_DATA_NORM_G],
                                  .dy2 = addresses->inputs[GRAD_DATA_NORM_SHORTCUT],
                                  .x = addresses->inputs[GRAD_DATA_NORM_X],
                                  .other = addresses->inputs[GRAD_DATA_NORM_SIDE],
                                  .scale = fused->branch[0].scale,
                                  .shift = fused->branch[0].shift,
                                  .mean = fused->branch[0].mean,
                                  .other_scale = fused->branch[1].scale,
                                  .other_shift = fused->branch[1].shift,
                                  .other_mean = fused->branch[1].mean,
                                  .dz = addresses->outputs[GRAD_DATA_NORM_G]};
}

/* The pointers in `soon` are prefetched by the 1x1 kernel: rows of x, the shortcut and the side
 * that add_pixels() will read next. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct fused *fused = cpu_step_new(cpu, sizeof *fused, run, NULL, ret_bound, err);
    if (fused == NULL)
        return -1;
    const struct shape *g = &cpu_output(graph, op, GRAD_DATA_NORM_G)->shape;
    fused->rows = cpu_rows(g);
    fused->channels = cpu_channels(g);
    fused->branches = is_dual(op) ? 2 : 1;
    fused->scratch = addresses->scratch;
    for (int i = 0; i < fused->branches; i++)
        place_branch(fused, addresses, i);
    fused->norm = norm_of(fused, addresses);
    conv_bf16_plan(&fused->conv, cpu, graph, op);
    conv_bf16_place(&fused->conv, graph, op, addresses,
                    fused->scratch + norm_grad_scratch(cpu, fused->channels));
    fused->conv.point.soon[0] = fused->norm.x;
    fused->conv.point.soon[1] = fused->norm.dy2;
    fused->conv.point.soon[2] = fused->norm.other;
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = fused};
    return 0;
}

const struct cpu_operator cpu_conv_norm_grad = {conv_bf16_has, query, bind};

/* --- the rest --------------------------------------------------------------------------------- */

struct apply {
    struct cpu_step step;
    size_t rows;
    struct norm_backward norm;
};

/* Backwards, because the end of g was written last by the preceding operator and is still in the
 * caches. */
static void apply_rows(void *context, struct share share) {
    const struct apply *apply = context;
    size_t begin, end, block;
    share_range(share, apply->rows, 1, &begin, &end);
    for (; block_backwards(begin, NORM_BLOCK_ROWS, &block, &end); end = block)
        apply->step.cpu->loops->norm_backward(&apply->norm, block, end);
}

static int run_apply(void *context, struct error *err) {
    (void)err;
    struct apply *apply = context;
    parallel_run(apply->step.cpu->threads, apply_rows, apply);
    return 0;
}

/* Binds the second pass, dx = g * a + x * b + c; the coefficients are one tensor [3, channels],
 * which the first operator wrote. It may run in place on g. */
static int bind_apply(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *ret_bound,
                      struct error *err) {
    struct apply *apply = cpu_step_new(cpu, sizeof *apply, run_apply, NULL, ret_bound, err);
    if (apply == NULL)
        return -1;
    const struct tensor *g = cpu_input(graph, op, 0);
    size_t channels = cpu_channels(&g->shape);
    const float *coefficients = addresses->inputs[2];
    apply->rows = cpu_rows(&g->shape);
    apply->norm = (struct norm_backward){.elem = cpu_elem(g->dtype),
                                         .channels = channels,
                                         .dy = addresses->inputs[0],
                                         .x = addresses->inputs[1],
                                         .a = coefficients,
                                         .b = coefficients + channels,
                                         .c = coefficients + 2 * channels,
                                         .dx = addresses->outputs[0]};
    return 0;
}

const struct cpu_operator cpu_norm_grad_apply = {NULL, cpu_query_in_place, bind_apply};
