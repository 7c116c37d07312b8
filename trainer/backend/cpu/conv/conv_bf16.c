#include "trainer/backend/cpu/conv/conv_bf16.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/conv/conv_kernel.h"

/* The plan is a pure function of shapes, types and the number of threads: conv_bf16_plan() is
 * called by `query` and again by `bind`, and both must agree on the scratch. conv_norm_grad.c uses
 * the same functions to compute a data gradient in pieces, between which it reduces the norm before
 * it.
 *
 * A data gradient is a convolution, too, with the channels exchanged and the taps rotated by 180
 * degrees. Packing does both (struct own_pack), so the kernels know no gradients. */

static bool is_gradient(const struct op *op) {
    return op->kind != OP_CONV2D && op->kind != OP_CONV2D_AFFINE;
}

/* The channels of input and result: for a gradient the forward outputs and inputs. */
static void channels_of(const struct graph *graph, const struct op *op, size_t *ret_in,
                        size_t *ret_out) {
    *ret_in = cpu_channels(&cpu_input(graph, op, 0)->shape);
    *ret_out = cpu_channels(&cpu_output(graph, op, 0)->shape);
}

/* Shapes alone; addresses are set by conv_bf16_place(). Height and width are those of the input,
 * which equal the result's for the windows that conv_bf16_has() accepts. */
static struct winograd winograd_of(const struct graph *graph, const struct op *op) {
    const int64_t *x = cpu_input(graph, op, 0)->shape.dim;
    struct winograd form = {.images = (size_t)x[0], .height = (size_t)x[1], .width = (size_t)x[2]};
    channels_of(graph, op, &form.in, &form.out);
    return form;
}

/* A 1x1 convolution of stride 1 is a matrix product over the pixels of all images, so only their
 * number counts. */
static struct point point_of(const struct graph *graph, const struct op *op) {
    struct point form = {.rows = cpu_rows(&cpu_output(graph, op, 0)->shape)};
    channels_of(graph, op, &form.in, &form.out);
    return form;
}

/* The pad of half a kernel keeps the
 * picture's size, which the kernels assume: input and result have one height and width. */
bool conv_bf16_has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    const struct tensor *x = cpu_input(graph, op, 0), *w = cpu_input(graph, op, 1);
    const struct op_window *window = &op->attr.window;
    if (!cpu->own_products || x->dtype != DTYPE_BF16 || window->stride != 1 ||
        !op_window_is_plain(window) || w->shape.dim[1] != w->shape.dim[2] ||
        window->pad != (int)w->shape.dim[1] / 2)
        return false;
    struct winograd winograd = winograd_of(graph, op);
    struct point point = point_of(graph, op);
    /* The stem's picture may have more channels than its weights. */
    if ((int64_t)(point.in * point.out) != w->shape.dim[0] * w->shape.dim[3])
        return false;
    return (w->shape.dim[1] == 3 && loops_have_winograd(cpu->loops, &winograd)) ||
           (w->shape.dim[1] == 1 && loops_have_point(cpu->loops, &point));
}

/* Units of 1x1 per thread, so that a delayed thread can leave some to the others. */
enum { UNITS_A_THREAD = 4 };

/* A small number of rows is cut into smaller units, so that every thread gets some. */
static void plan_point(struct conv_bf16 *conv) {
    size_t rows = conv->rows / ((size_t)conv->cpu->threads * UNITS_A_THREAD);
    rows = cpu_divided(rows + 1, POINT_GRAIN) * POINT_GRAIN;
    conv->unit_rows = rows < POINT_ROWS ? rows : POINT_ROWS;
    conv->units = cpu_divided(conv->rows, conv->unit_rows);
}

/* Whole lines of tiles, as many as share one pass over the weights, equally many for each
 * thread. */
static void plan_winograd(struct conv_bf16 *conv) {
    const struct winograd *w = &conv->winograd;
    size_t columns = winograd_tiles(w->width), block = conv->cpu->loops->winograd_block(w);
    size_t threads = (size_t)conv->cpu->threads;
    conv->lines = w->images * winograd_tiles(w->height);
    conv->units = cpu_divided(conv->lines, block > columns ? block / columns : 1);
    conv->units = cpu_divided(conv->units, threads) * threads;
    conv->scratch = backend_aligned(conv->cpu->loops->winograd_scratch(w));
}

/* Fills both forms, as they are small; `is_point` says which one is used. */
void conv_bf16_plan(struct conv_bf16 *conv, const struct cpu *cpu, const struct graph *graph,
                    const struct op *op) {
    *conv = (struct conv_bf16){.cpu = cpu,
                               .is_point = cpu_input(graph, op, 1)->shape.dim[1] == 1,
                               .rows = cpu_rows(&cpu_output(graph, op, 0)->shape)};
    conv->winograd = winograd_of(graph, op);
    conv->point = point_of(graph, op);
    size_t in = conv->point.in, out = conv->point.out;
    conv->pack = (struct own_pack){.in = in, .out = out, .gradient = is_gradient(op)};
    conv->fold_bytes = op->kind == OP_CONV2D_AFFINE ? conv_fold_bytes(graph, op) : 0;
    if (conv->is_point)
        plan_point(conv);
    else
        plan_winograd(conv);
}

/* Bytes of packed memory: folded values of OP_CONV2D_AFFINE, then weights in the kernel's
 * layout. */
size_t conv_bf16_packed(const struct conv_bf16 *conv) {
    return conv->fold_bytes + (conv->is_point
                                   ? point_weight_bytes(conv->point.in, conv->point.out)
                                   : winograd_weight_bytes(conv->winograd.in, conv->winograd.out));
}

/* Sets the epilogue of OP_CONV2D_AFFINE. The weights are packed from the folded copy instead of the
 * master weights, and the 1x1 kernel prefetches the shortcut. */
static void place_end(struct conv_bf16 *conv, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses) {
    conv_fold_place(&conv->fold, graph, op, addresses);
    conv->pack.w = conv->fold.weights;
    conv->point.end = conv->winograd.end = (struct bf16_end){
        .bias = conv->fold.bias, .side = addresses->inputs[AFFINE_SIDE], .relu = op->attr.relu};
    conv->point.soon[0] = conv->point.end.side;
}

/* The folded values come first in `packed`, then the kernel's own weights; without a norm there are
 * none. */
void conv_bf16_place(struct conv_bf16 *conv, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, char *scratch) {
    conv->point.x = conv->winograd.x = addresses->inputs[0];
    conv->point.y = conv->winograd.y = addresses->outputs[0];
    conv->pack.weights = (char *)addresses->packed + conv->fold_bytes;
    conv->point.weights = conv->winograd.weights = conv->pack.weights;
    conv->pack.w = addresses->inputs[1];
    conv->winograd.scratch = scratch;
    if (op->kind == OP_CONV2D_AFFINE)
        place_end(conv, graph, op, addresses);
}

/* Copies the form, because threads differ in their scratch. */
void conv_bf16_lines(const struct conv_bf16 *conv, int thread, size_t begin, size_t end) {
    struct winograd form = conv->winograd;
    size_t columns = winograd_tiles(form.width);
    form.scratch = (char *)form.scratch + conv->scratch * (size_t)thread;
    conv->cpu->loops->winograd_run(&form, begin * columns, end * columns);
}

/* Returns the first pixel of a line of tiles; the last line of an odd picture has a single row of
 * pixels. */
size_t conv_bf16_line_pixel(const struct conv_bf16 *conv, size_t line) {
    const struct winograd *w = &conv->winograd;
    size_t lines = winograd_tiles(w->height);
    return (line / lines * w->height + 2 * (line % lines)) * w->width;
}

/* Cuts lines of tiles into units of nearly equal size; UNIT may be `units`, for the end of the last
 * one. */
static size_t first_line(const struct conv_bf16 *conv, size_t unit) {
    return conv->lines * unit / conv->units;
}

/* The last unit of 1x1 ends with the rows; for Winograd, unit boundaries are those of lines of
 * tiles, so a unit begins and ends with whole rows of pixels. */
void conv_bf16_rows(const struct conv_bf16 *conv, size_t unit, size_t *ret_begin, size_t *ret_end) {
    if (conv->is_point) {
        *ret_begin = unit * conv->unit_rows;
        *ret_end = unit + 1 < conv->units ? *ret_begin + conv->unit_rows : conv->rows;
        return;
    }
    *ret_begin = conv_bf16_line_pixel(conv, first_line(conv, unit));
    *ret_end = conv_bf16_line_pixel(conv, first_line(conv, unit + 1));
}

/* One unit of work on THREAD, of which only Winograd needs scratch. */
static void run_unit(void *context, int thread, size_t unit) {
    const struct conv_bf16 *conv = context;
    if (!conv->is_point) {
        conv_bf16_lines(conv, thread, first_line(conv, unit), first_line(conv, unit + 1));
        return;
    }
    size_t begin, end;
    conv_bf16_rows(conv, unit, &begin, &end);
    conv->cpu->loops->point_run(&conv->point, begin, end);
}

/* The pieces are blocks of PACK_OUTS by PACK_INS weights; each is packed by one thread. */
static void pack_share(void *context, struct share share) {
    const struct conv_bf16 *conv = context;
    const struct loops *loops = conv->cpu->loops;
    size_t begin, end;
    share_range(share, pack_units(&conv->pack), 1, &begin, &end);
    if (conv->is_point)
        loops->point_pack(&conv->pack, begin, end);
    else
        loops->winograd_pack(&conv->pack, begin, end);
}

/* Folding comes first: packing reads its result. Without a norm conv_fold_refresh() does
 * nothing. */
void conv_bf16_refresh(const struct conv_bf16 *conv) {
    conv_fold_refresh(&conv->fold, conv->cpu);
    parallel_run(conv->cpu->threads, pack_share, (void *)conv);
}

/* --- as operators ----------------------------------------------------------------------------- */

struct bound_conv {
    struct cpu_step step;
    struct conv_bf16 conv;
};

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_bf16 conv;
    conv_bf16_plan(&conv, cpu, graph, op);
    ret_needs->scratch = conv.scratch * (size_t)cpu->threads;
    ret_needs->packed = conv_bf16_packed(&conv);
    return 0;
}

static int run(void *context, struct error *err) {
    (void)err;
    struct bound_conv *bound = context;
    parallel_units(bound->step.cpu->threads, bound->conv.units, run_unit, &bound->conv);
    return 0;
}

static int refresh(void *context, struct error *err) {
    (void)err;
    conv_bf16_refresh(&((struct bound_conv *)context)->conv);
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct bound_conv *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    conv_bf16_plan(&bound->conv, cpu, graph, op);
    conv_bf16_place(&bound->conv, graph, op, addresses, addresses->scratch);
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = bound};
    return 0;
}

/* The fused data gradient with a norm has the same shapes, but its own operator:
 * conv_norm_grad.c. */
static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    return (op->kind == OP_CONV2D || op->kind == OP_CONV2D_GRAD_DATA ||
            op->kind == OP_CONV2D_AFFINE) &&
           conv_bf16_has(cpu, graph, op);
}

const struct conv_kernel conv_bf16_kernel = {
    .family = CPU_CONVS_OWN, .has = has, .query = query, .bind = bind};
