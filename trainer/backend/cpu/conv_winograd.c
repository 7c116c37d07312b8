/* 3x3 convolutions of stride 1 in bf16 by loop_winograd.c. The data gradient is the same with the
 * weights turned round. Threads share the tiles; each tile's arithmetic is its own, so results do
 * not depend on how many there are. */
#include "cpu/conv_winograd.h"
#include "cpu/parallel.h"

struct conv_winograd {
    struct cpu_step step;
    struct winograd form; /* all of it, scratch of the first thread */
    struct winograd_pack pack;
    size_t tiles, scratch_bytes; /* of one thread */
};

static size_t aligned(size_t bytes) {
    return (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
}

static struct winograd form_of(const struct graph *graph, const struct op *op) {
    const int64_t *x = cpu_input(graph, op, 0)->shape.dim, *y = cpu_output(graph, op, 0)->shape.dim;
    return (struct winograd){.images = (size_t)x[0],
                             .height = (size_t)x[1],
                             .width = (size_t)x[2],
                             .in = (size_t)x[3],
                             .out = (size_t)y[3]};
}

bool conv_winograd_has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    const struct tensor *x = cpu_input(graph, op, 0), *w = cpu_input(graph, op, 1);
    const struct op_window *window = &op->attr.window;
    if (!cpu->own_products || x->dtype != DTYPE_BF16 || w->shape.dim[1] != 3 ||
        w->shape.dim[2] != 3 || window->stride != 1 || window->pad != 1)
        return false;
    struct winograd form = form_of(graph, op);
    return (int64_t)(form.in * form.out) == w->shape.dim[0] * w->shape.dim[3] &&
           cpu->loops->winograd_supported(&form);
}

int conv_winograd_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        struct backend_needs *ret_needs) {
    struct winograd form = form_of(graph, op);
    ret_needs->scratch = aligned(cpu->loops->winograd_scratch(&form)) * (size_t)cpu->threads;
    ret_needs->packed = winograd_weight_bytes(form.in, form.out);
    return 0;
}

static void run_share(void *context, struct share share) {
    const struct conv_winograd *conv = context;
    struct winograd form = conv->form;
    size_t begin, end;
    share_range(share, conv->tiles, 1, &begin, &end);
    form.scratch = (char *)form.scratch + conv->scratch_bytes * (size_t)share.index;
    conv->step.cpu->loops->winograd_run(&form, begin, end);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct conv_winograd *conv = context;
    parallel_run(conv->step.cpu->threads, run_share, conv);
    return 0;
}

static void pack_share(void *context, struct share share) {
    const struct conv_winograd *conv = context;
    const struct loops *loops = conv->step.cpu->loops;
    size_t begin, end;
    share_range(share, winograd_pack_units(&conv->pack), 1, &begin, &end);
    loops->winograd_pack(&conv->pack, begin, end);
}

static int refresh(void *context, struct error *err) {
    (void)err;
    struct conv_winograd *conv = context;
    parallel_run(conv->step.cpu->threads, pack_share, conv);
    return 0;
}

int conv_winograd_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct backend_site *site, struct backend_bound *ret_bound,
                       struct error *err) {
    struct conv_winograd *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    conv->form = form_of(graph, op);
    conv->scratch_bytes = aligned(cpu->loops->winograd_scratch(&conv->form));
    conv->tiles =
        conv->form.images * winograd_tiles(conv->form.height) * winograd_tiles(conv->form.width);
    conv->form.x = site->inputs[0];
    conv->form.weights = site->packed;
    conv->form.y = site->outputs[0];
    conv->form.scratch = site->scratch;
    conv->pack = (struct winograd_pack){.in = conv->form.in,
                                        .out = conv->form.out,
                                        .gradient = op->kind == OP_CONV2D_GRAD_DATA,
                                        .w = site->inputs[1],
                                        .weights = site->packed};
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = conv};
    return 0;
}
