/* Weight gradients by the kernel of our own (loop_weight.c), where the instruction set has it. The
 * work is a grid: the output pixels are cut into parts, and so are the results (units). Parts of
 * pixels other than the first have sums of their own, which are added up in order at the end; parts
 * of results pack the same dy again. Which grid is cheapest follows from the shape alone, so that
 * results are the same for the same number of threads. */
#include "cpu/conv_weight.h"
#include "cpu/parallel.h"

struct conv_weight {
    struct cpu_step step;
    struct weight_part part; /* all of it; threads cut theirs out */
    size_t pixel_parts, unit_parts, units;
    size_t result; /* elements of dw */
    char *scratch;
    size_t scratch_bytes; /* of one thread */
    float *sums;          /* of pixel part 1 and on */
};

static size_t aligned(size_t bytes) {
    return (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
}

static struct weight_part part_of(const struct graph *graph, const struct op *op) {
    const struct tensor *dy = cpu_input(graph, op, 0), *x = cpu_input(graph, op, 1);
    const int64_t *w = op->attr.target.dim;
    struct weight_part part = {.elem = cpu_elem(x->dtype),
                               .height = (size_t)x->shape.dim[1],
                               .width = (size_t)x->shape.dim[2],
                               .in = (size_t)w[3],
                               .out_height = (size_t)dy->shape.dim[1],
                               .out_width = (size_t)dy->shape.dim[2],
                               .out = (size_t)w[0],
                               .kernel = (size_t)w[1],
                               .taps = (size_t)(w[1] * w[2]),
                               .stride = (size_t)op->attr.window.stride,
                               .pad = (size_t)op->attr.window.pad};
    part.pixel_end = (size_t)dy->shape.dim[0] * part.out_height * part.out_width;
    part.unit_end = part.taps * weight_groups(part.in);
    return part;
}

bool conv_weight_has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    struct weight_part part = part_of(graph, op);
    return cpu->own_products && cpu_input(graph, op, 1)->shape.dim[3] == op->attr.target.dim[3] &&
           cpu->loops->weight_supported(&part);
}

/* Estimated cycles of a thread: two instructions of 16 words at a time, packing at 16 words a
 * cycle, sums added at 8 bytes a cycle. Only the order of such estimates matters. */
static double cost(const struct weight_part *part, size_t threads, size_t pixel_parts) {
    size_t unit_parts = threads / pixel_parts;
    double units = (double)((part->unit_end + unit_parts - 1) / unit_parts);
    double pixels = (double)part->pixel_end / (double)pixel_parts, out = (double)part->out;
    double work = pixels * (units * out + out / 16 + units * 8);
    double sums = (double)(part->taps * part->in) * out * sizeof(float);
    return pixel_parts == 1 ? work : work + sums * (double)(pixel_parts + 1) / 8 / (double)threads;
}

static size_t best_pixel_parts(const struct weight_part *part, size_t threads) {
    size_t best = 1;
    for (size_t parts = 2; parts <= threads && parts <= part->pixel_end; parts++)
        if (threads % parts == 0 && cost(part, threads, parts) < cost(part, threads, best))
            best = parts;
    return best;
}

static void lay_out(struct conv_weight *conv, const struct cpu *cpu) {
    size_t threads = (size_t)cpu->threads;
    conv->pixel_parts = best_pixel_parts(&conv->part, threads);
    conv->unit_parts = threads / conv->pixel_parts;
    conv->units = conv->part.unit_end;
    conv->result = conv->part.out * conv->part.taps * conv->part.in;
    conv->scratch_bytes = aligned(cpu->loops->weight_scratch(&conv->part));
}

int conv_weight_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      struct backend_needs *ret_needs) {
    struct conv_weight conv = {.part = part_of(graph, op)};
    lay_out(&conv, cpu);
    ret_needs->scratch = conv.scratch_bytes * (size_t)cpu->threads +
                         aligned(conv.result * sizeof(float)) * (conv.pixel_parts - 1);
    return 0;
}

static void run_part(const struct conv_weight *conv, size_t index) {
    struct weight_part part = conv->part;
    struct share pixels = {.index = (int)(index / conv->unit_parts),
                           .count = (int)conv->pixel_parts};
    struct share units = {.index = (int)(index % conv->unit_parts), .count = (int)conv->unit_parts};
    share_range(pixels, conv->part.pixel_end, 1, &part.pixel_begin, &part.pixel_end);
    share_range(units, conv->units, 1, &part.unit_begin, &part.unit_end);
    part.scratch = conv->scratch + conv->scratch_bytes * index;
    if (pixels.index > 0)
        part.dw = (float *)(void *)((char *)conv->sums + aligned(conv->result * sizeof(float)) *
                                                             (size_t)(pixels.index - 1));
    conv->step.cpu->loops->weight_run(&part);
}

static void run_share(void *context, struct share share) {
    const struct conv_weight *conv = context;
    size_t parts = conv->pixel_parts * conv->unit_parts;
    for (size_t index = (size_t)share.index; index < parts; index += (size_t)share.count)
        run_part(conv, index);
}

static void add_share(void *context, struct share share) {
    const struct conv_weight *conv = context;
    size_t begin, end, stride = aligned(conv->result * sizeof(float));
    share_range(share, conv->result, BACKEND_ALIGNMENT, &begin, &end);
    for (size_t i = 0; i + 1 < conv->pixel_parts; i++)
        conv->step.cpu->loops->add(conv->part.dw, (char *)conv->sums + stride * i, ELEM_F32, false,
                                   conv->part.dw, begin, end);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct conv_weight *conv = context;
    parallel_run(conv->step.cpu->threads, run_share, conv);
    if (conv->pixel_parts > 1)
        parallel_run(conv->step.cpu->threads, add_share, conv);
    return 0;
}

int conv_weight_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct backend_site *site, struct backend_bound *ret_bound,
                     struct error *err) {
    struct conv_weight *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    conv->part = part_of(graph, op);
    lay_out(conv, cpu);
    conv->part.dy = site->inputs[0];
    conv->part.x = site->inputs[1];
    conv->part.dw = site->outputs[0];
    conv->scratch = site->scratch;
    conv->sums = (float *)(void *)(conv->scratch + conv->scratch_bytes * (size_t)cpu->threads);
    return 0;
}
