/* f32 convolutions and data gradients as own matrix products (loop_conv_rows.c). The data gradient
 * of stride 2 consists of four of them: positions with odd and even rows and columns have different
 * taps, and no product with 0 is computed. Work is cut into blocks of positions, and those into
 * groups of outputs if there are few. Every sum is computed by one thread, so results do not depend
 * on the number of threads. */
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/conv/conv_fold.h"
#include "trainer/backend/cpu/conv/conv_kernel.h"

enum { CLASSES_MAX = 4 };

/* One class of positions, and its share of the units: blocks of positions for each group of
 * panels. */
struct class {
    struct conv_rows rows;
    struct conv_rows_pack pack;
    size_t block, blocks, groups;
};

/* A forward pass is one class. A data gradient has a class for each remainder of the position
 * divided by the stride, at most four, and each writes its own positions of dx. */
struct conv_gemm {
    struct cpu_step step;
    struct class class[CLASSES_MAX];
    size_t classes, panels, units;
    size_t scratch_bytes; /* of one thread */
    char *scratch;
    struct conv_fold fold; /* of OP_CONV2D_AFFINE */
};

static bool is_gradient(const struct op *op) {
    return op->kind == OP_CONV2D_GRAD_DATA;
}

/* --- what is computed ------------------------------------------------------------------------- */

/* Taps are offsets of a pixel that is read from the position's own; in front of the first row or
 * column they are negative, and conv_rows_run() takes 0 there. */
static struct class forward_class(const struct conv_tensors *t, const struct op_window *window) {
    const int64_t *x = t->x->shape.dim, *w = t->w->shape.dim, *y = t->y->shape.dim;
    struct class class = {.rows = {.height = (size_t)x[1],
                                   .width = (size_t)x[2],
                                   .in = (size_t)x[3],
                                   .images = (size_t)x[0],
                                   .grid_height = (size_t)y[1],
                                   .grid_width = (size_t)y[2],
                                   .step = (size_t)window->stride,
                                   .out = (size_t)y[3],
                                   .y_height = (size_t)y[1],
                                   .y_width = (size_t)y[2],
                                   .y_step = 1}};
    for (int i = 0; i < (int)(w[1] * w[2]); i++) {
        class.pack.tap[class.rows.taps] = (size_t)i;
        class.rows.tap[class.rows.taps++] =
            (struct conv_tap){i / (int)w[2] - window->pad, i % (int)w[2] - window->pad};
    }
    return class;
}

/* The positions (stride * i + row, stride * j + column) of dx. Position p of dx receives dy at (p +
 * pad - tap) / stride, for the taps where that is a whole number: these are the class's taps, and
 * no other weights are packed for it. */
static struct class gradient_class(const struct conv_tensors *t, const struct op_window *window,
                                   int row, int column) {
    const int64_t *x = t->x->shape.dim, *w = t->w->shape.dim, *y = t->y->shape.dim;
    int stride = window->stride;
    struct class class = {.rows = {.height = (size_t)y[1],
                                   .width = (size_t)y[2],
                                   .in = (size_t)y[3],
                                   .images = (size_t)x[0],
                                   .grid_height = (size_t)((x[1] - row + stride - 1) / stride),
                                   .grid_width = (size_t)((x[2] - column + stride - 1) / stride),
                                   .step = 1,
                                   .out = (size_t)x[3],
                                   .y_height = (size_t)x[1],
                                   .y_width = (size_t)x[2],
                                   .y_step = (size_t)stride,
                                   .y_row = (size_t)row,
                                   .y_column = (size_t)column},
                          .pack = {.gradient = true}};
    for (int i = 0; i < (int)(w[1] * w[2]); i++) {
        int down = row + window->pad - i / (int)w[2], right = column + window->pad - i % (int)w[2];
        if (down % stride != 0 || right % stride != 0)
            continue;
        class.pack.tap[class.rows.taps] = (size_t)i;
        class.rows.tap[class.rows.taps++] = (struct conv_tap){down / stride, right / stride};
    }
    return class;
}

/* Classes without a position are left out, as a picture of one row has none with odd rows. A class
 * without taps stays: its part of dx has to be written with zeros. */
static void find_classes(struct conv_gemm *conv, const struct graph *graph, const struct op *op) {
    struct conv_tensors t = conv_tensors_of(graph, op);
    const struct op_window *window = &op->attr.window;
    int stride = is_gradient(op) ? window->stride : 1;
    for (int i = 0; i < stride * stride; i++) {
        struct class class = is_gradient(op) ? gradient_class(&t, window, i / stride, i % stride)
                                             : forward_class(&t, window);
        class.pack.in = class.rows.in;
        class.pack.out = class.rows.out;
        class.pack.taps = class.rows.taps;
        class.pack.kernel_taps = (size_t)(t.w->shape.dim[1] * t.w->shape.dim[2]);
        class.rows.relu = op->kind == OP_CONV2D_AFFINE && op->attr.relu;
        if (conv_rows_positions(&class.rows) > 0)
            conv->class[conv->classes++] = class;
    }
}

/* --- how it is cut ---------------------------------------------------------------------------- */

/* Blocks of equal size, as many for each thread; if a thread would get fewer than TURNS of them,
 * outputs are also cut, into groups of at least GROUP_PANELS. */
enum { TURNS = 4, GROUP_PANELS = 4, ROWS_LEAST = 14 };

/* MOST is the largest block that conv_rows_run() handles; PANELS are groups of outputs as wide as
 * the kernel's registers. Blocks are multiples of ROWS_LEAST positions. In f32 each output is an
 * own sum, so where the cut lies changes no bit. */
static void cut(struct class *class, size_t most, size_t panels, size_t threads) {
    size_t positions = conv_rows_positions(&class->rows);
    class->blocks = cpu_divided(cpu_divided(positions, most), threads) * threads;
    class->block = cpu_divided(cpu_divided(positions, class->blocks), ROWS_LEAST) * ROWS_LEAST;
    class->block = class->block < most ? class->block : most;
    class->blocks = cpu_divided(positions, class->block);
    class->groups = cpu_divided(TURNS * threads, class->blocks);
    if (class->blocks >= TURNS * threads || panels / GROUP_PANELS < 1)
        class->groups = 1;
    else if (class->groups > panels / GROUP_PANELS)
        class->groups = panels / GROUP_PANELS;
}

/* Everything that follows from shapes, types and threads. All classes have the same channels, so
 * the first one's scratch is enough for each. */
static void plan(struct conv_gemm *conv, const struct cpu *cpu, const struct graph *graph,
                 const struct op *op) {
    const struct loops *loops = cpu->loops;
    find_classes(conv, graph, op);
    conv->panels = cpu_divided(conv->class[0].rows.out, loops->conv_rows_panel());
    conv->scratch_bytes = backend_aligned(loops->conv_rows_scratch(&conv->class[0].rows));
    for (size_t i = 0; i < conv->classes; i++) {
        struct class *class = &conv->class[i];
        cut(class, loops->conv_rows_block(), conv->panels, (size_t)cpu->threads);
        conv->units += class->blocks * class->groups;
    }
}

/* Each class's weights begin at a multiple of BACKEND_ALIGNMENT; place() follows the same steps. */
static size_t packed_bytes(const struct conv_gemm *conv, const struct cpu *cpu) {
    size_t bytes = 0;
    for (size_t i = 0; i < conv->classes; i++)
        bytes +=
            backend_aligned(cpu->loops->conv_rows_weights(&conv->class[i].pack) * sizeof(float));
    return bytes;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_gemm conv = {0};
    plan(&conv, cpu, graph, op);
    ret_needs->scratch = conv.scratch_bytes * (size_t)cpu->threads;
    ret_needs->packed = packed_bytes(&conv, cpu);
    if (op->kind == OP_CONV2D_AFFINE)
        ret_needs->packed += conv_fold_bytes(graph, op);
    return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Units are numbered class by class; within a class by group, then by block, so that threads that
 * run at the same time share a group's weights. */
static void run_unit(void *context, int thread, size_t unit) {
    const struct conv_gemm *conv = context;
    const struct class *class = conv->class;
    for (; unit >= class->blocks * class->groups; class ++)
        unit -= class->blocks * class->groups;
    size_t group = unit / class->blocks, positions = conv_rows_positions(&class->rows);
    size_t begin = unit % class->blocks * class->block, end = begin + class->block;
    struct conv_rows rows = class->rows;
    rows.scratch = conv->scratch + conv->scratch_bytes * (size_t)thread;
    conv->step.cpu->loops->conv_rows_run(&rows, begin, end < positions ? end : positions,
                                         conv->panels * group / class->groups,
                                         conv->panels * (group + 1) / class->groups);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct conv_gemm *conv = context;
    parallel_units(conv->step.cpu->threads, conv->units, run_unit, conv);
    return 0;
}

/* A unit is one panel of one class. */
static void pack_unit(void *context, int thread, size_t unit) {
    (void)thread;
    const struct conv_gemm *conv = context;
    size_t panel = unit % conv->panels;
    conv->step.cpu->loops->conv_rows_pack(&conv->class[unit / conv->panels].pack, panel, panel + 1);
}

static int refresh(void *context, struct error *err) {
    (void)err;
    struct conv_gemm *conv = context;
    conv_fold_refresh(&conv->fold, conv->step.cpu);
    parallel_units(conv->step.cpu->threads, conv->classes * conv->panels, pack_unit, conv);
    return 0;
}

/* Sets addresses in every class. The folded weights of OP_CONV2D_AFFINE come first in `packed` and
 * are what the classes pack; otherwise they pack the master weights. */
static void place(struct conv_gemm *conv, const struct graph *graph, const struct op *op,
                  const struct op_addresses *addresses) {
    char *packed = addresses->packed;
    const float *w = addresses->inputs[1];
    bool affine = op->kind == OP_CONV2D_AFFINE;
    conv->scratch = addresses->scratch;
    if (affine) {
        conv_fold_place(&conv->fold, graph, op, addresses);
        packed += conv_fold_bytes(graph, op);
        w = conv->fold.weights;
    }
    for (size_t i = 0; i < conv->classes; i++) {
        struct class *class = &conv->class[i];
        class->pack.w = w;
        class->rows.weights = class->pack.weights = (float *)(void *)packed;
        packed +=
            backend_aligned(conv->step.cpu->loops->conv_rows_weights(&class->pack) * sizeof(float));
        class->rows.x = addresses->inputs[0];
        class->rows.y = addresses->outputs[0];
        class->rows.bias = affine ? conv->fold.bias : NULL;
        class->rows.side = affine ? addresses->inputs[AFFINE_SIDE] : NULL;
    }
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct conv_gemm *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    plan(conv, cpu, graph, op);
    place(conv, graph, op, addresses);
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = conv};
    return 0;
}

/* --- where ------------------------------------------------------------------------------------ */

enum { CHANNELS = 16, STRIDE_MAX = 2 };

/* Channels fill whole vectors of the widest instruction set, and there are no padding channels to
 * be skipped in x. Windows up to 3x3 and stride 2 are what CONV_TAPS_MAX and CLASSES_MAX have room
 * for. */
static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    if (op->kind != OP_CONV2D && op->kind != OP_CONV2D_GRAD_DATA && op->kind != OP_CONV2D_AFFINE)
        return false;
    struct conv_tensors t = conv_tensors_of(graph, op);
    const int64_t *w = t.w->shape.dim;
    return t.x->dtype == DTYPE_F32 && t.x->shape.dim[3] == w[3] && w[0] % CHANNELS == 0 &&
           w[3] % CHANNELS == 0 && w[1] * w[2] <= CONV_TAPS_MAX &&
           op->attr.window.stride <= STRIDE_MAX;
}

/* Speed relative to oneDNN 3.2 limited to AVX2, f32, on two cores of a Zen 4, summed over the
 * layers of a ResNet-50 of 224 px. 1x1 of 12544 positions and more (batch 16): 1.1 forward, 1.1
 * data gradient; of fewer 0.7 to 1.1 (batch 2: 0.8). Data gradients of stride 2: 1.1 to 1.3. All
 * other 3x3 are slower, 0.8 to 0.9. With AVX-512, on two cores of a Xeon with AMX, layers of Mask
 * R-CNN in its own step: 1x1 of SHALLOW inputs, with rows read in place, 1.1, with a
 * following sum 1.2, and of stride 2 1.0 to 1.2; of more inputs 0.85 to 0.9. On AMX, one thread of
 * it, relative to oneDNN's AVX-512 on layers of Mask R-CNN: 1x1 1.1 to 1.8, of stride 2 1.4, 3x3
 * of stride 2 1.2 to 1.4, of stride 1 1.7. */
enum { TILE_POSITIONS = 256 };
enum { MANY_POSITIONS = 12544, SOME_POSITIONS = 512, SHALLOW = 256, AVX2_LANES = 8 };

static bool wins(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    struct conv_tensors t = conv_tensors_of(graph, op);
    const int64_t *w = t.w->shape.dim;
    if (is_gradient(op) && op->attr.window.stride == 2)
        return true;
    if (cpu->loops->tiles && cpu_rows(&t.y->shape) >= TILE_POSITIONS)
        return true;
    if (w[1] * w[2] != 1)
        return false;
    if (cpu->loops->lanes == AVX2_LANES)
        return cpu_rows(&t.y->shape) >= MANY_POSITIONS;
    return cpu->loops->lanes > AVX2_LANES && cpu_rows(&t.y->shape) >= SOME_POSITIONS &&
           (op->attr.window.stride == 2 || (is_gradient(op) ? w[0] : w[3]) <= SHALLOW);
}

const struct conv_kernel conv_gemm_kernel = {
    .family = CPU_CONVS_GEMM, .has = has, .wins = wins, .query = query, .bind = bind};
