/* Weight gradients by own kernels (loop_weight.c, loop_winograd_weight.c, loop_gemm_weight.c), if
 * the instruction set has one. The work is a grid: the positions of the sum (output pixels or tiles
 * of them) are cut into parts, and so are the results (units). Parts of positions other than the
 * first have their own sums, which are added in order at the end; parts of results pack the same dy
 * again. How positions are cut depends only on the shape, so results are the same for any number of
 * threads; how results are cut depends on both. */
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/base/reduce.h"
#include "trainer/backend/cpu/conv/conv_kernel.h"

/* Two rows of the kernels' table are made here. conv_weight_kernel takes bf16 and f32 gradients on
 * processors with AVX-512 BF16, by Winograd's products or directly; conv_gemm_weight_kernel takes
 * f32 gradients as a matrix product with any instruction set. They differ in lay_out() and
 * lay_out_gemm(), which say how the grid is cut; query, run and placement are common. */

struct conv_weight {
    struct cpu_step step;
    const struct weight_kernel *kernel;
    struct weight_part part; /* the whole; threads take their parts of it */
    size_t position_parts, unit_parts, units;
    size_t result; /* elements of dw */
    char *scratch;
    size_t scratch_bytes; /* of one thread */
    struct parts sums;    /* of the parts of positions */
};

/* Sets the tensors' shapes; positions and units depend on the kernel. */
static struct weight_part shapes_of(const struct graph *graph, const struct op *op) {
    const struct tensor *dy = cpu_input(graph, op, 0), *x = cpu_input(graph, op, 1);
    const int64_t *w = op->attr.target.dim;
    return (struct weight_part){.elem = cpu_elem(x->dtype),
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
}

/* Kernels are compared by address in the table of loops. */
static bool is_winograd(const struct cpu *cpu, const struct conv_weight *conv) {
    return conv->kernel == &cpu->loops->winograd_weight;
}

/* Chooses the kernel and sets all of its positions and units; false if there is none. */
static bool choose(struct conv_weight *conv, const struct cpu *cpu, const struct graph *graph,
                   const struct op *op) {
    struct weight_part *part = &conv->part;
    *part = shapes_of(graph, op);
    size_t images = (size_t)cpu_input(graph, op, 0)->shape.dim[0];
    conv->kernel = &cpu->loops->winograd_weight;
    if (weight_kernel_supports(conv->kernel, part)) {
        part->end = images * winograd_tiles(part->height) * winograd_tiles(part->width);
        part->unit_end = weight_groups(part->in) * weight_groups(part->out);
        return true;
    }
    conv->kernel = &cpu->loops->weight;
    part->end = images * part->out_height * part->out_width;
    part->unit_end = part->taps * weight_groups(part->in);
    return weight_kernel_supports(conv->kernel, part);
}

/* A picture with padding channels is left to oneDNN: the kernels take the channels of x and w as
 * equal. */
static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    struct conv_weight conv;
    return op->kind == OP_CONV2D_GRAD_WEIGHT && cpu->own_products &&
           cpu_input(graph, op, 1)->shape.dim[3] == op->attr.target.dim[3] &&
           choose(&conv, cpu, graph, op);
}

/* For one tile and unit: its products, its transforms. */
enum { WINOGRAD_CYCLES = 1024 + 300 };

/* Returns the estimated cycles of a thread: two instructions of 16 words at a time, packing at 16
 * words a cycle, sums added at 8 bytes a cycle. Only the order of such estimates matters. The
 * middle term is the packing of dy, which every part of the units repeats. With several parts of
 * positions, each sum is written once and read again when they are added. */
static double cost(const struct conv_weight *conv, bool winograd, size_t threads,
                   size_t position_parts) {
    const struct weight_part *part = &conv->part;
    size_t unit_parts = threads / position_parts;
    double units = (double)(cpu_divided(part->unit_end, unit_parts));
    double positions = (double)part->end / (double)position_parts, out = (double)part->out;
    double each = winograd ? units * WINOGRAD_CYCLES : units * out + out / 16 + units * 8;
    double sums = (double)(part->taps * part->in) * out * sizeof(float);
    if (position_parts == 1)
        return positions * each;
    return positions * each + sums * (double)(position_parts + 1) / 8 / (double)threads;
}

/* Positions are cut as for this many threads, whatever the real number. */
enum { THREADS_MEANT = 16 };

/* Powers of two only. A second part doubles the memory of the sums, so ties keep fewer parts. */
static size_t best_position_parts(const struct conv_weight *conv, bool winograd) {
    size_t best = 1;
    for (size_t parts = 2; parts <= THREADS_MEANT && parts <= conv->part.end; parts *= 2)
        if (cost(conv, winograd, THREADS_MEANT, parts) < cost(conv, winograd, THREADS_MEANT, best))
            best = parts;
    return best;
}

/* Parts per thread if they cannot be divided equally. */
enum { TURNS = 4 };

/* The fewest that give all threads the same amount of work. If no number up to that limit divides
 * evenly, there are enough parts for the threads to share them out as they become free. */
static size_t unit_parts_for(size_t position_parts, size_t threads) {
    size_t parts = 1;
    while (position_parts * parts % threads != 0 && position_parts * parts < TURNS * threads)
        parts++;
    return parts;
}

/* Computes what follows from kernel, part and the number of parts of its positions and units. */
static void measure(struct conv_weight *conv) {
    conv->units = conv->part.unit_end;
    conv->result = conv->part.out * conv->part.taps * conv->part.in;
    conv->scratch_bytes = backend_aligned(conv->kernel->scratch(&conv->part));
}

/* choose() cannot fail here: has() asked before. */
static void lay_out(struct conv_weight *conv, const struct cpu *cpu, const struct graph *graph,
                    const struct op *op) {
    (void)choose(conv, cpu, graph, op);
    conv->position_parts = best_position_parts(conv, is_winograd(cpu, conv));
    conv->unit_parts = unit_parts_for(conv->position_parts, (size_t)cpu->threads);
    measure(conv);
}

/* Splitting for AMX does not pay for fewer outputs or inputs. */
static bool is_wide(const struct weight_part *part) {
    enum { CHANNELS = 128 };
    return part->out >= CHANNELS && part->taps * part->in >= CHANNELS;
}

/* Few results are also cut by pixels, for many threads: into this many parts, none with fewer
 * pixels. */
enum { GEMM_PARTS = 32, GEMM_PIXELS = 1024 };

/* Positions and units do not depend on the number of threads at all, so neither do the bits. */
static void lay_out_gemm(struct conv_weight *conv, const struct cpu *cpu, const struct graph *graph,
                         const struct op *op) {
    struct weight_part *part = &conv->part;
    *part = shapes_of(graph, op);
    part->end = cpu_rows(&cpu_input(graph, op, 0)->shape);
    const struct loops *loops = cpu->loops;
    if (!is_wide(part))
        loops = loops_plain(loops);
    conv->kernel = &loops->gemm_weight;
    size_t group = loops->gemm_weight_group();
    part->unit_end = cpu_divided(part->out, group) * cpu_divided(part->taps * part->in, group);
    size_t wanted = cpu_divided(GEMM_PARTS, part->unit_end);
    size_t most = cpu_divided(part->end, GEMM_PIXELS);
    conv->position_parts = wanted < most ? wanted : most;
    conv->unit_parts = part->unit_end;
    measure(conv);
}

/* Each thread's scratch, then the sums of all parts but the first, which is summed in the arena. */
static void needs_of(const struct conv_weight *conv, const struct cpu *cpu,
                     struct backend_needs *ret_needs) {
    ret_needs->scratch = conv->scratch_bytes * (size_t)cpu->threads +
                         parts_stride(conv->result) * (conv->position_parts - 1);
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_weight conv = {0};
    lay_out(&conv, cpu, graph, op);
    needs_of(&conv, cpu, ret_needs);
    return 0;
}

static int query_gemm(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_weight conv = {0};
    lay_out_gemm(&conv, cpu, graph, op);
    needs_of(&conv, cpu, ret_needs);
    return 0;
}

/* Part INDEX of the grid: units vary fastest, so that threads that run together read the same
 * positions of x and dy. */
static void run_part(void *context, int thread, size_t index) {
    const struct conv_weight *conv = context;
    struct weight_part part = conv->part;
    struct share positions = {.index = (int)(index / conv->unit_parts),
                              .count = (int)conv->position_parts};
    struct share units = {.index = (int)(index % conv->unit_parts), .count = (int)conv->unit_parts};
    share_range(positions, conv->part.end, 1, &part.begin, &part.end);
    share_range(units, conv->units, 1, &part.unit_begin, &part.unit_end);
    part.scratch = conv->scratch + conv->scratch_bytes * (size_t)thread;
    part.dw = parts_of(&conv->sums, (size_t)positions.index);
    conv->kernel->run(&part);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct conv_weight *conv = context;
    parallel_units(conv->step.cpu->threads, conv->position_parts * conv->unit_parts, run_part,
                   conv);
    parts_add(&conv->sums);
    return 0;
}

/* No memory is initialized: each part overwrites its own units of its own sum. */
static void place(struct conv_weight *conv, const struct op_addresses *addresses) {
    conv->part.dy = addresses->inputs[0];
    conv->part.x = addresses->inputs[1];
    conv->scratch = addresses->scratch;
    conv->sums = (struct parts){.cpu = conv->step.cpu,
                                .first = addresses->outputs[0],
                                .others = conv->scratch +
                                          conv->scratch_bytes * (size_t)conv->step.cpu->threads,
                                .values = conv->result,
                                .parts = conv->position_parts};
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct conv_weight *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    lay_out(conv, cpu, graph, op);
    place(conv, addresses);
    return 0;
}

static int bind_gemm(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    struct conv_weight *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    lay_out_gemm(conv, cpu, graph, op);
    place(conv, addresses);
    return 0;
}

/* The product has square windows and no padding channels. */
static bool has_gemm(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    if (op->kind != OP_CONV2D_GRAD_WEIGHT)
        return false;
    struct weight_part part = shapes_of(graph, op);
    return part.taps == part.kernel * part.kernel &&
           cpu_channels(&cpu_input(graph, op, 1)->shape) == part.in &&
           cpu->loops->gemm_weight.supported(&part);
}

/* Measured as in conv_gemm.c, batch 16 and batch 2: 3x3 1.3 and 1.7, 3x3 of stride 2 1.7 and 2.6,
 * 1x1 of stride 2 1.4, 1x1 of 256 channels and more 1.2 to 1.5 and 1.1 to 1.3; of fewer, batch 16,
 * on a Xeon with AMX limited to AVX2, 56x56 0.8 to 1.4 and 28x28 1.0. For pictures with 3 channels
 * on one thread of a Zen 3: 7x7 of stride 2 1.2, 3x3 0.2 to 0.7. On AMX, relative to oneDNN's
 * AVX-512 on one thread of the same Xeon, layers of Mask R-CNN: 1x1 1.1 to 1.6, 3x3 of stride 2
 * 1.7; of 64 channels 1.0. If oneDNN's sums would depend on the number of threads ours are used in
 * any case. */
enum { FEW_CHANNELS = 16, MANY_COLUMNS = 128, AVX2_LANES = 8 };

/* The measured rules above; only reached if has_gemm() is true and the user left the choice
 * open. */
static bool gemm_wins(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    struct weight_part part = shapes_of(graph, op);
    if (!conv_dnn_weight_divides(graph, op))
        return true;
    if (cpu->loops->tiles)
        return is_wide(&part);
    return cpu->loops->lanes == AVX2_LANES &&
           (part.in >= FEW_CHANNELS || part.taps * part.in >= MANY_COLUMNS);
}

const struct conv_kernel conv_weight_kernel = {
    .family = CPU_CONVS_OWN, .has = has, .query = query, .bind = bind};
const struct conv_kernel conv_gemm_weight_kernel = {.family = CPU_CONVS_GEMM,
                                                    .has = has_gemm,
                                                    .wins = gemm_wins,
                                                    .query = query_gemm,
                                                    .bind = bind_gemm};
