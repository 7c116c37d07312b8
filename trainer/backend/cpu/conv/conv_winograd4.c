/* Forward passes and data gradients by Winograd's products, with the epilogue of OP_CONV2D_AFFINE
 * in the last transform.
 *
 * Tiles are cut into blocks that fit a thread's L2 cache with their transformed inputs; a thread
 * computes all outputs of its block. If the weights are larger than the shared cache
 * (WEIGHTS_MOST), or there are few tiles per thread, the inputs of many tiles are transformed
 * first, by all threads, and then each thread computes some outputs of all of them, so that the
 * weights are read once. Either way a result is computed by one thread and in one order of sums:
 * it does not depend on the number of threads. Tiles of a data gradient that only read zeros are
 * skipped (conv_winograd4_skip.c). */
#include "trainer/backend/cpu/conv/conv_winograd4.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/conv/conv_fold.h"
#include "trainer/backend/cpu/conv/conv_winograd4_skip.h"

enum { SHARE_TILES = 8, WEIGHTS_MOST = 16 << 20, SHARED_BYTES = 16 << 20 };

/* Maxima: outputs of a unit, tiles of a thread's block and their bytes, tiles of a unit of those
 * that share their inputs, and floats of a panel of weights used at a time. */
struct limits {
    size_t outs, block_tiles, block_bytes, group_tiles, panel_floats;
};

/* On AMX inputs are split for each group of outputs, so all outputs together are better, and
 * weights take more memory: if read for few tiles, that costs more than their products. */
static const struct limits limits = {128, 42, 2 << 20, 84, 4096};
enum { LARGE_WEIGHTS = 256 * 256, LARGE_TILES = 128 };
static const struct limits tile_limits = {256, 128, 8 << 20, 256, 8192};

struct conv_winograd4 {
    struct cpu_step step;
    const struct loops *loops;
    struct winograd4_picture in, out;
    struct winograd4_pack pack;
    struct winograd4_end end;
    struct conv_fold fold; /* of OP_CONV2D_AFFINE */
    const float *x;
    struct conv_winograd4_choice choice; /* chosen tiles of a data gradient */
    size_t panel, cut;                   /* columns, and depth, of the weights used at a time */
    size_t block;                        /* at most, tiles of a unit */
    size_t
        together; /* tiles with inputs that all threads share; 0: each thread transforms its own */
    size_t outs;  /* of a unit of those */
    size_t begin; /* the first of the tiles processed together, during the run */
    /* Scratch: zeros, shared inputs, each thread's (inputs, sums, scratch of the product), then a
     * data gradient's choice of tiles. */
    size_t zero_bytes, shared_bytes, thread_bytes, choice_bytes;
    char *scratch;
};

/* --- what is computed ------------------------------------------------------------------------- */

/* Both pictures are described by the tiles of the output: cell (r, c) of `in` is what tile (r, c)
 * of `out` reads, beginning `before` pixels above and left of it. A data gradient exchanges the
 * pictures, and its padding is what is left of the window of 3. */
void conv_winograd4_pictures(const struct graph *graph, const struct op *op,
                             struct winograd4_picture *ret_in, struct winograd4_picture *ret_out) {
    struct conv_tensors t = conv_tensors_of(graph, op);
    bool gradient = op->kind == OP_CONV2D_GRAD_DATA;
    const int64_t *in = gradient ? t.y->shape.dim : t.x->shape.dim;
    const int64_t *out = gradient ? t.x->shape.dim : t.y->shape.dim;
    size_t pad = (size_t)op->attr.window.pad;
    *ret_out = (struct winograd4_picture){.images = (size_t)out[0],
                                          .height = (size_t)out[1],
                                          .width = (size_t)out[2],
                                          .channels = (size_t)out[3],
                                          .rows = winograd4_cells((size_t)out[1]),
                                          .columns = winograd4_cells((size_t)out[2])};
    *ret_in = *ret_out;
    ret_in->height = (size_t)in[1];
    ret_in->width = (size_t)in[2];
    ret_in->channels = (size_t)in[3];
    ret_in->before = gradient ? 2 - pad : pad;
}

bool conv_winograd4_fits(const struct graph *graph, const struct op *op) {
    struct conv_tensors t = conv_tensors_of(graph, op);
    const int64_t *w = t.w->shape.dim;
    return t.x->dtype == DTYPE_F32 && w[1] == 3 && w[2] == 3 && op->attr.window.stride == 1 &&
           op->attr.window.pad <= 1 && t.x->shape.dim[3] == w[3] &&
           w[0] % WINOGRAD4_CHANNELS == 0 && w[3] % WINOGRAD4_CHANNELS == 0;
}

/* Speed on Zen 4, 2 threads, relative to oneDNN 3.2's forward pass, weight and data gradient
 * (AVX-512 BF16 machine; limited to AVX2), by bench_conv_layers:
 *     16x56x56   64 -> 64    2.3 1.2 2.4    2.1 2.1 2.6
 *     16x28x28  128 -> 128   2.5 1.6 2.5    2.7 2.1 2.6
 *     16x14x14  256 -> 256   1.9 1.8 1.8    2.0 2.0 1.9
 *     16x7x7    512 -> 512   1.7 1.8 1.9    1.9 2.9 2.3
 *     1x100x136 256 -> 256   2.9 3.3 2.6    2.8 9.2 2.7
 *     1x50x68   256 -> 256   2.3 2.6 2.4    2.4 3.8 2.5
 *     1x25x34   256 -> 256   1.9 2.6 2.0    2.1 2.4 2.0
 * Limits (AVX-512): 16x32x32 of 32 channels 2.0 1.8 2.0, of 16 1.1 0.8 1.1; half of the tiles'
 * pixels outside, 16x6x6 of 256 1.3 1.3 1.2, 16x5x5 0.9 1.1 0.8; weights transformed for few
 * pixels, 16x4x4 1.5 1.8 1.5, 1x14x14 1.2 1.3 1.3, 16x3x3 0.9 1.0 0.9, 1x7x7 of 512 0.8 0.5 0.8.
 * On AMX, relative to the same with AVX-512, one thread of a Xeon: 1x100x136 256 -> 256 1.3 1.3
 * 1.3, 1x50x68 1.1 1.4 1.1; of 64 channels 0.9, so these keep AVX-512. */
enum { CHANNELS_LEAST = 32 * 32, PIXELS_LEAST = 192, PANEL_LEAST = 16 /* AVX2 */ };

bool conv_winograd4_wins(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    struct winograd4_picture in, out;
    conv_winograd4_pictures(graph, op, &in, &out);
    size_t pixels = out.images * out.height * out.width;
    size_t of_tiles = winograd4_tiles(&out) * WINOGRAD4_SIDE * WINOGRAD4_SIDE;
    return cpu->loops->winograd4_panel() >= PANEL_LEAST &&
           in.channels * out.channels >= CHANNELS_LEAST && pixels >= PIXELS_LEAST &&
           2 * pixels >= of_tiles;
}

const struct loops *conv_winograd4_loops(const struct cpu *cpu, size_t in, size_t out) {
    enum { CHANNELS = 128 };
    return in >= CHANNELS && out >= CHANNELS ? cpu->loops : loops_plain(cpu->loops);
}

struct winograd4_matrix conv_winograd4_rows(float *base, size_t tiles, size_t channels) {
    size_t row = channels + WINOGRAD4_SLACK;
    return (struct winograd4_matrix){
        .base = base, .places = tiles * row + WINOGRAD4_PAD, .row = row, .width = channels};
}

size_t conv_winograd4_floats(const struct winograd4_matrix *matrix) {
    return WINOGRAD4_PLACES * matrix->places + WINOGRAD4_SLACK * matrix->row;
}

/* --- how it is cut ---------------------------------------------------------------------------- */

/* As many blocks for each thread, none larger than `block`; with fewer tiles chosen they become
 * smaller. */
static size_t blocks_of(const struct conv_winograd4 *conv) {
    size_t threads = (size_t)conv->step.cpu->threads;
    return cpu_divided(cpu_divided(conv->choice.count, conv->block), threads) * threads;
}

/* Returns the outputs of a unit: OUTS, or fewer if some threads would have none. */
static size_t outs_for(const struct conv_winograd4 *conv, size_t outs, size_t threads) {
    while (outs > conv->panel && cpu_divided(conv->out.channels, outs) < 2 * threads)
        outs /= 2;
    return outs;
}

/* 36 places of transformed weights: four times the nine taps of the master weights. Places are
 * padded to whole panels. */
static size_t packed_bytes(const struct conv_winograd4 *conv) {
    return WINOGRAD4_PLACES * conv->loops->winograd4_weights(conv->pack.in, conv->pack.out) *
           sizeof(float);
}

/* Everything that follows from shapes, types and threads, for `query` and `bind` alike. */
static void plan(struct conv_winograd4 *conv, const struct cpu *cpu, const struct graph *graph,
                 const struct op *op) {
    conv_winograd4_pictures(graph, op, &conv->in, &conv->out);
    conv->choice.tiles = conv->choice.count = winograd4_tiles(&conv->out);
    size_t in = conv->in.channels, out = conv->out.channels, threads = (size_t)cpu->threads;
    conv->loops = conv_winograd4_loops(cpu, in, out);
    if (in * out > LARGE_WEIGHTS && conv->choice.tiles < LARGE_TILES)
        conv->loops = loops_plain(conv->loops);
    const struct limits *most = conv->loops->tiles ? &tile_limits : &limits;
    conv->panel = conv->loops->winograd4_panel();
    conv->pack =
        (struct winograd4_pack){.in = in, .out = out, .gradient = op->kind == OP_CONV2D_GRAD_DATA};
    conv->end.relu = op->kind == OP_CONV2D_AFFINE && op->attr.relu;
    size_t tile_bytes = WINOGRAD4_PLACES * in * sizeof(float);
    size_t weight_bytes = packed_bytes(conv);
    size_t block = most->block_bytes / tile_bytes;
    conv->block = block < 1 ? 1 : cpu_least(block, most->block_tiles);
    conv->outs = cpu_least(most->outs, out);
    struct winograd4_matrix inputs = conv_winograd4_rows(NULL, conv->block, in);
    size_t own = conv_winograd4_floats(&inputs), shared = 0;
    if (weight_bytes > WEIGHTS_MOST || conv->choice.count < threads * conv->block) {
        size_t together = SHARED_BYTES / tile_bytes;
        conv->together = cpu_least(conv->choice.count, together < 1 ? 1 : together);
        conv->block = cpu_least(conv->together, most->group_tiles);
        conv->outs = outs_for(conv, most->outs, threads);
        inputs = conv_winograd4_rows(NULL, conv->together, in);
        shared = conv_winograd4_floats(&inputs);
        own = 0;
    }
    struct winograd4_matrix sums = conv_winograd4_rows(NULL, conv->block, conv->outs);
    conv->zero_bytes = backend_aligned(in * sizeof(float));
    conv->shared_bytes = backend_aligned(shared * sizeof(float));
    conv->cut = most->panel_floats / conv->panel;
    size_t product = conv->loops->winograd4_product_scratch(conv->block, conv->cut);
    conv->thread_bytes =
        backend_aligned((own + conv_winograd4_floats(&sums)) * sizeof(float) + product);
    if (conv->pack.gradient)
        conv->choice_bytes = conv_winograd4_choice_bytes(conv->choice.tiles);
}

/* Scratch in the order of struct conv_winograd4's last comment. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_winograd4 conv = {0};
    plan(&conv, cpu, graph, op);
    ret_needs->scratch = conv.zero_bytes + conv.shared_bytes +
                         conv.thread_bytes * (size_t)cpu->threads + conv.choice_bytes;
    ret_needs->packed = packed_bytes(&conv);
    if (op->kind == OP_CONV2D_AFFINE)
        ret_needs->packed += conv_fold_bytes(graph, op);
    return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Transformed inputs that all threads read (`together` tiles of them). */
static float *shared_of(const struct conv_winograd4 *conv) {
    return (float *)(void *)(conv->scratch + conv->zero_bytes);
}

static float *own_of(const struct conv_winograd4 *conv, int thread) {
    return (float *)(void *)(conv->scratch + conv->zero_bytes + conv->shared_bytes +
                             conv->thread_bytes * (size_t)thread);
}

/* COUNT tiles from BEGIN on become rows from ROW on of TO. */
static void transform(const struct conv_winograd4 *conv, const struct winograd4_matrix *to,
                      size_t row, size_t begin, size_t count) {
    struct winograd4_matrix from_row = *to;
    from_row.base += row * to->row;
    conv->loops->winograd4_inputs(&conv->in, conv->x, (const float *)conv->scratch, begin, count,
                                  &from_row);
}

/* OUTS outputs from OUT on of COUNT tiles from BEGIN on, with the rows from ROW on as inputs. */
static void finish(const struct conv_winograd4 *conv, const struct winograd4_matrix *inputs,
                   size_t row, size_t begin, size_t count, size_t out, float *memory) {
    const struct loops *loops = conv->loops;
    size_t outs = cpu_least(conv->outs, conv->out.channels - out), in = conv->in.channels;
    struct winograd4_matrix sums = conv_winograd4_rows(memory, conv->block, outs);
    struct winograd4_product product = {.rows = count,
                                        .columns = outs,
                                        .depth = in,
                                        .cut = conv->cut,
                                        .a_row = inputs->row,
                                        .b_panel = loops->winograd4_weights(in, conv->panel),
                                        .c_row = sums.row,
                                        .scratch = memory + conv_winograd4_floats(&sums)};
    size_t place_weights = loops->winograd4_weights(in, conv->out.channels);
    for (size_t place = 0; place < WINOGRAD4_PLACES; place++) {
        bool last = place + 1 == WINOGRAD4_PLACES;
        product.a = inputs->base + place * inputs->places + row * inputs->row;
        product.b =
            conv->pack.weights + place * place_weights + out / conv->panel * product.b_panel;
        product.next_a = last ? NULL : product.a + inputs->places;
        product.next_b = last ? NULL : product.b + place_weights;
        product.c = sums.base + place * sums.places;
        loops->winograd4_product(&product);
    }
    loops->winograd4_outputs(&conv->out, &sums, begin, count, out, &conv->end);
}

/* Returns UNIT of UNITS parts of TOTAL, equal except for one. */
static size_t part(size_t total, size_t unit, size_t units, size_t *ret_count) {
    size_t begin = total * unit / units;
    *ret_count = total * (unit + 1) / units - begin;
    return begin;
}

static void run_block(void *context, int thread, size_t unit) {
    const struct conv_winograd4 *conv = context;
    struct winograd4_matrix inputs =
        conv_winograd4_rows(own_of(conv, thread), conv->block, conv->in.channels);
    size_t count, begin = part(conv->choice.count, unit, blocks_of(conv), &count);
    transform(conv, &inputs, 0, begin, count);
    for (size_t out = 0; out < conv->out.channels; out += conv->outs)
        finish(conv, &inputs, 0, begin, count, out, inputs.base + conv_winograd4_floats(&inputs));
}

static size_t together_of(const struct conv_winograd4 *conv) {
    return cpu_least(conv->together, conv->choice.count - conv->begin);
}

/* The layout is a function of the plan, so it is rebuilt instead of being stored. */
static struct winograd4_matrix shared_inputs(const struct conv_winograd4 *conv) {
    return conv_winograd4_rows(shared_of(conv), conv->together, conv->in.channels);
}

static void transform_some(void *context, int thread, size_t unit) {
    (void)thread;
    const struct conv_winograd4 *conv = context;
    struct winograd4_matrix inputs = shared_inputs(conv);
    size_t row = unit * SHARE_TILES, left = together_of(conv) - row;
    transform(conv, &inputs, row, conv->begin + row, cpu_least(left, SHARE_TILES));
}

/* Units are numbered group of outputs by group of outputs, each with all blocks of tiles: threads
 * that run at the same time read the same weights. */
static void run_outs(void *context, int thread, size_t unit) {
    const struct conv_winograd4 *conv = context;
    struct winograd4_matrix inputs = shared_inputs(conv);
    size_t blocks = cpu_divided(together_of(conv), conv->block), count;
    size_t row = part(together_of(conv), unit % blocks, blocks, &count);
    finish(conv, &inputs, row, conv->begin + row, count, unit / blocks * conv->outs,
           own_of(conv, thread));
}

/* Skips tiles of a data gradient that only read zeros. */
static void leave_out(struct conv_winograd4 *conv) {
    enum { SEEN = WINOGRAD4_SIDE + 2 };
    conv_winograd4_choose(conv->step.cpu, &conv->in, conv->x, (const float *)conv->scratch, SEEN,
                          &conv->choice);
    conv_winograd4_clear(conv->step.cpu, &conv->out, &conv->choice, conv->end.y);
    conv->in.chosen = conv->out.chosen = conv->choice.chosen;
}

static int run(void *context, struct error *err) {
    (void)err;
    struct conv_winograd4 *conv = context;
    int threads = conv->step.cpu->threads;
    memset(conv->scratch, 0, conv->zero_bytes);
    if (conv->pack.gradient)
        leave_out(conv);
    if (conv->together == 0) {
        parallel_units(threads, blocks_of(conv), run_block, conv);
        return 0;
    }
    size_t groups = cpu_divided(conv->out.channels, conv->outs);
    for (conv->begin = 0; conv->begin < conv->choice.count; conv->begin += conv->together) {
        size_t tiles = together_of(conv);
        parallel_units(threads, cpu_divided(tiles, SHARE_TILES), transform_some, conv);
        parallel_units(threads, cpu_divided(tiles, conv->block) * groups, run_outs, conv);
    }
    return 0;
}

/* A unit is one panel of outputs at all 36 places. */
static void pack_unit(void *context, int thread, size_t unit) {
    (void)thread;
    const struct conv_winograd4 *conv = context;
    conv->loops->winograd4_pack(&conv->pack, unit, unit + 1);
}

static int refresh(void *context, struct error *err) {
    (void)err;
    struct conv_winograd4 *conv = context;
    conv_fold_refresh(&conv->fold, conv->step.cpu);
    parallel_units(conv->step.cpu->threads, cpu_divided(conv->pack.out, conv->panel), pack_unit,
                   conv);
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct conv_winograd4 *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    plan(conv, cpu, graph, op);
    char *packed = addresses->packed;
    conv->scratch = addresses->scratch;
    conv->choice.scratch = own_of(conv, cpu->threads);
    conv->x = addresses->inputs[0];
    conv->end.y = addresses->outputs[0];
    conv->pack.w = addresses->inputs[1];
    if (op->kind == OP_CONV2D_AFFINE) {
        conv_fold_place(&conv->fold, graph, op, addresses);
        packed += conv_fold_bytes(graph, op);
        conv->pack.w = conv->fold.weights;
        conv->end.bias = conv->fold.bias;
        conv->end.side = addresses->inputs[AFFINE_SIDE];
    }
    conv->pack.weights = (float *)(void *)packed;
    ret_bound->refresh = (struct bound_step){.run = refresh, .context = conv};
    return 0;
}

static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    return (op->kind == OP_CONV2D || op->kind == OP_CONV2D_GRAD_DATA ||
            op->kind == OP_CONV2D_AFFINE) &&
           conv_winograd4_fits(graph, op);
}

const struct conv_kernel conv_winograd4_kernel = {.family = CPU_CONVS_WINOGRAD,
                                                  .has = has,
                                                  .wins = conv_winograd4_wins,
                                                  .query = query,
                                                  .bind = bind};
