/* Weight gradients by Winograd's products. For as many tiles as the shared cache holds, all
 * threads transform both sides: x into panels, dy into rows, in the layout of the product over
 * tiles, without packing. Then threads take places, and groups of outputs of them, and add the
 * products to their sums. Each sum has one owner, which adds in order: results do not depend on
 * the number of threads, and there is no reduction at the end. Tiles of dy that are all zero are
 * skipped (conv_winograd4_skip.c). */
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/conv/conv_winograd4.h"
#include "trainer/backend/cpu/conv/conv_winograd4_skip.h"

/* A gradient has 36 products (one per place of a transformed tile) of [out x tiles] by [tiles x
 * in]. Sums are kept in the transformed domain over all tiles, and winograd4_taps() transforms them
 * back once at the end. The alternative, a reduction of each thread's own sums, would need 36 * in
 * * out floats a thread. */

enum { SHARE_TILES = 8, TOGETHER_MOST = 256, TOGETHER_LEAST = 64 };
/* Both transformed sides of the tiles that are processed together stay within this share of the L3
 * cache. */
enum { SHARED_BYTES = 24 << 20 };

/* Outputs of a unit, and tiles summed at a time: 64 by 64 are half an L1 cache. On AMX both sides
 * are split for each unit. */
enum { OUTS = 64, CUT = 64, TILE_OUTS = 256, TILE_CUT = 128 };
enum { TAPS = 9, TAP_ROWS = 4 }; /* outputs of a unit of the last transform */

struct conv_winograd4_weight {
    struct cpu_step step;
    const struct loops *loops;
    size_t outs, cut; /* of a product: outputs of a unit, tiles summed at a time */
    struct winograd4_picture in, out;
    struct winograd4_matrix inputs, gradients; /* of the tiles processed together */
    const float *x, *dy;
    float *dw, *zeros;
    float *sums; /* [36][out][in] */
    struct conv_winograd4_choice choice;
    size_t together, begin;
    size_t inputs_at, gradients_at, sums_at, choice_at, product_at; /* byte offsets after `zeros` */
    size_t product_floats, scratch_bytes;                           /* of a thread; of all */
};

/* Returns the offset of the next FLOATS of the scratch. */
static size_t take(struct conv_winograd4_weight *conv, size_t floats) {
    size_t at = conv->scratch_bytes;
    conv->scratch_bytes += backend_aligned(floats * sizeof(float));
    return at;
}

/* Equal parts of tiles. */
static void plan(struct conv_winograd4_weight *conv, const struct cpu *cpu,
                 const struct graph *graph, const struct op *op) {
    conv_winograd4_pictures(graph, op, &conv->in, &conv->out);
    size_t in = conv->in.channels, out = conv->out.channels;
    conv->loops = conv_winograd4_loops(cpu, in, out);
    bool wide = conv->loops->tiles;
    conv->outs = wide ? TILE_OUTS : OUTS;
    conv->cut = wide ? TILE_CUT : CUT;
    size_t panel = conv->loops->winograd4_panel(), panels = cpu_divided(in, panel);
    size_t most = SHARED_BYTES / (WINOGRAD4_PLACES * (in + out) * sizeof(float));
    most = most > TOGETHER_MOST ? TOGETHER_MOST : most < TOGETHER_LEAST ? TOGETHER_LEAST : most;
    size_t tiles = winograd4_tiles(&conv->out);
    conv->choice.tiles = tiles;
    conv->together = cpu_divided(tiles, cpu_divided(tiles, most));
    size_t step = conv->together * panel + WINOGRAD4_PAD;
    conv->inputs = (struct winograd4_matrix){
        .places = panels * step + WINOGRAD4_PAD, .panels = step, .row = panel, .width = panel};
    conv->gradients = conv_winograd4_rows(NULL, conv->together, out);
    (void)take(conv, in > out ? in : out); /* zeros */
    conv->inputs_at = take(conv, WINOGRAD4_PLACES * conv->inputs.places);
    conv->gradients_at = take(conv, conv_winograd4_floats(&conv->gradients));
    conv->sums_at = take(conv, WINOGRAD4_PLACES * in * out);
    conv->choice_at = take(conv, conv_winograd4_choice_bytes(tiles) / sizeof(float));
    conv->product_floats =
        conv->loops->winograd4_product_scratch(conv->outs, conv->cut) / sizeof(float);
    conv->product_at = take(conv, conv->product_floats * (size_t)cpu->threads);
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct conv_winograd4_weight conv = {0};
    plan(&conv, cpu, graph, op);
    ret_needs->scratch = conv.scratch_bytes;
    return 0;
}

/* Tiles of the current round; the last one may have fewer. */
static size_t together_of(const struct conv_winograd4_weight *conv) {
    return cpu_least(conv->choice.count - conv->begin, conv->together);
}

/* SHARE_TILES tiles of both sides. The matrices are copied, as only the base moves to the unit's
 * rows. */
static void transform(void *context, int thread, size_t unit) {
    (void)thread;
    const struct conv_winograd4_weight *conv = context;
    const struct loops *loops = conv->loops;
    struct winograd4_matrix inputs = conv->inputs, gradients = conv->gradients;
    size_t row = unit * SHARE_TILES;
    size_t count = cpu_least(together_of(conv) - row, SHARE_TILES);
    inputs.base += row * inputs.row;
    gradients.base += row * gradients.row;
    loops->winograd4_inputs(&conv->in, conv->x, conv->zeros, conv->begin + row, count, &inputs);
    loops->winograd4_gradients(&conv->out, conv->dy, conv->zeros, conv->begin + row, count,
                               &gradients);
}

/* Groups of outputs, of which the last may be smaller. */
static size_t groups_of(const struct conv_winograd4_weight *conv) {
    return cpu_divided(conv->out.channels, conv->outs);
}

/* One place and one group of outputs. The first round overwrites the sums (`add` is false), so that
 * they need no clearing. next_a and next_b are what the following unit reads; the product
 * prefetches them, which is a guess if another thread takes that unit. */
static void multiply(void *context, int thread, size_t unit) {
    const struct conv_winograd4_weight *conv = context;
    float *scratch = conv->zeros + conv->product_at / sizeof(float);
    size_t place = unit / groups_of(conv), o = unit % groups_of(conv) * conv->outs;
    size_t in = conv->in.channels, out = conv->out.channels;
    struct winograd4_product product = {.rows = out - o < conv->outs ? out - o : conv->outs,
                                        .columns = in,
                                        .depth = together_of(conv),
                                        .cut = conv->cut,
                                        .by_columns = true,
                                        .add = conv->begin > 0,
                                        .a = conv->gradients.base + place * conv->gradients.places +
                                             o,
                                        .a_row = conv->gradients.row,
                                        .b = conv->inputs.base + place * conv->inputs.places,
                                        .b_panel = conv->inputs.panels,
                                        .c = conv->sums + (place * out + o) * in,
                                        .c_row = in,
                                        .scratch = scratch + conv->product_floats * (size_t)thread};
    if (unit + 1 < WINOGRAD4_PLACES * groups_of(conv)) {
        bool turns = o + conv->outs >= out;
        product.next_a = turns ? product.a - o + conv->gradients.places : product.a + conv->outs;
        product.next_b = turns ? product.b + conv->inputs.places : product.b;
    }
    conv->loops->winograd4_product(&product);
}

/* Transforms TAP_ROWS outputs of dw. Channels are multiples of WINOGRAD4_CHANNELS, so units are
 * whole. */
static void finish(void *context, int thread, size_t unit) {
    (void)thread;
    const struct conv_winograd4_weight *conv = context;
    conv->loops->winograd4_taps(conv->sums, conv->in.channels, conv->out.channels, conv->dw,
                                unit * TAP_ROWS, (unit + 1) * TAP_ROWS);
}

/* The choice of tiles is made on dy: a tile without gradients adds nothing for any input. If none
 * is left, the sums were never written, and dw is set to zero instead. */
static int run(void *context, struct error *err) {
    (void)err;
    struct conv_winograd4_weight *conv = context;
    int threads = conv->step.cpu->threads;
    size_t in = conv->in.channels, out = conv->out.channels;
    memset(conv->zeros, 0, (in > out ? in : out) * sizeof(float));
    conv_winograd4_choose(conv->step.cpu, &conv->out, conv->dy, conv->zeros, WINOGRAD4_SIDE,
                          &conv->choice);
    conv->in.chosen = conv->out.chosen = conv->choice.chosen;
    if (conv->choice.count == 0) {
        memset(conv->dw, 0, out * TAPS * in * sizeof(float));
        return 0;
    }
    for (conv->begin = 0; conv->begin < conv->choice.count; conv->begin += conv->together) {
        parallel_units(threads, cpu_divided(together_of(conv), SHARE_TILES), transform, conv);
        parallel_units(threads, WINOGRAD4_PLACES * groups_of(conv), multiply, conv);
    }
    parallel_units(threads, out / TAP_ROWS, finish, conv);
    return 0;
}

/* Addresses from the offsets of plan(); `zeros` begins the scratch. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct conv_winograd4_weight *conv = cpu_step_new(cpu, sizeof *conv, run, NULL, ret_bound, err);
    if (conv == NULL)
        return -1;
    plan(conv, cpu, graph, op);
    conv->zeros = addresses->scratch;
    conv->inputs.base = conv->zeros + conv->inputs_at / sizeof(float);
    conv->gradients.base = conv->zeros + conv->gradients_at / sizeof(float);
    conv->sums = conv->zeros + conv->sums_at / sizeof(float);
    conv->choice.scratch = conv->zeros + conv->choice_at / sizeof(float);
    conv->dy = addresses->inputs[0];
    conv->x = addresses->inputs[1];
    conv->dw = addresses->outputs[0];
    return 0;
}

static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    return op->kind == OP_CONV2D_GRAD_WEIGHT && conv_winograd4_fits(graph, op);
}

const struct conv_kernel conv_winograd4_weight_kernel = {.family = CPU_CONVS_WINOGRAD,
                                                         .has = has,
                                                         .wins = conv_winograd4_wins,
                                                         .query = query,
                                                         .bind = bind};
