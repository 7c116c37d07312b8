/* How the work of Winograd's products of 4x4 tiles is cut, by the scratch that it wants; the loops
 * are in test_loop_winograd4.c, what is computed in tests/ops. */
#include "tests/support/conv_layer.h"
#include "trainer/backend/cpu/conv/conv_winograd4.h"
#include "trainer/backend/cpu/conv/conv_winograd4_skip.h"

static size_t matrix_bytes(size_t tiles, size_t channels) {
    const struct winograd4_matrix matrix = conv_winograd4_rows(NULL, tiles, channels);
    return conv_winograd4_floats(&matrix) * sizeof(float);
}

/* Each thread transforms BLOCK tiles and has room for their sums of 64 outputs. */
static size_t own_inputs(int threads, size_t in, size_t block) {
    return backend_aligned(in * sizeof(float)) +
           (size_t)threads * backend_aligned(matrix_bytes(block, in) + matrix_bytes(block, 64));
}

/* TOGETHER tiles are transformed for all; each thread has room for the sums of OUTS outputs of
 * BLOCK of them. */
static size_t shared_inputs(int threads, size_t in, size_t together, size_t block, size_t outs) {
    return backend_aligned(in * sizeof(float)) + backend_aligned(matrix_bytes(together, in)) +
           (size_t)threads * backend_aligned(matrix_bytes(block, outs));
}

static size_t packed_for(const struct loops *loops, const struct conv_layer *layer) {
    return WINOGRAD4_PLACES * sizeof(float) *
           loops->winograd4_weights((size_t)layer->in, (size_t)layer->out);
}

static size_t scratch_of(const char *loops, int threads, const struct conv_layer *layer, int kind) {
    const struct cpu cpu = {.threads = threads, .loops = loops_called(loops)};
    struct conv_layer_ops ops;
    struct backend_needs needs = {0};
    struct error err = {0};
    conv_layer_open(&ops, layer, DTYPE_F32);
    CU_ASSERT(conv_winograd4_kernel.has(&cpu, &ops.graph, ops.of[kind]));
    CU_ASSERT_EQUAL(conv_winograd4_kernel.query(&cpu, &ops.graph, ops.of[kind], &needs, &err), 0);
    CU_ASSERT(needs.packed == packed_for(cpu.loops, layer) ||
              needs.packed == packed_for(loops_plain(cpu.loops), layer));
    graph_done(&ops.graph);
    return needs.scratch;
}

static void matrices_have_room_behind_them(void) {
    const struct winograd4_matrix matrix = conv_winograd4_rows(NULL, 5, 48);
    CU_ASSERT_EQUAL(matrix.row, 48 + WINOGRAD4_SLACK);
    CU_ASSERT_EQUAL(matrix.width, 48);
    CU_ASSERT(matrix.places >= 5 * matrix.row);
    /* 13 rows after the last one are read (loop_gemm.h) */
    CU_ASSERT(conv_winograd4_floats(&matrix) >= 36 * matrix.places + 13 * matrix.row);
    CU_ASSERT(conv_winograd4_floats(&matrix) <= 36 * matrix.places + 20 * matrix.row);
}

/* As many tiles as fill a second cache, 42 at most; in all loops alike. */
static void many_tiles_are_cut_into_blocks_of_each_thread(void) {
    static const struct conv_layer few = {16, 56, 56, 64, 64, 3, 1, 1, 0};
    static const struct conv_layer many = {16, 56, 56, 512, 64, 3, 1, 1, 0};
    for (int threads = 1; threads <= 3; threads++) {
        CU_ASSERT_EQUAL(scratch_of("baseline", threads, &few, LAYER_FORWARD),
                        own_inputs(threads, 64, 42));
        CU_ASSERT_EQUAL(scratch_of("baseline", threads, &many, LAYER_FORWARD),
                        own_inputs(threads, 512, 28));
        /* a data gradient notes which tiles it computes: 16 x 14 x 14 of them */
        CU_ASSERT_EQUAL(scratch_of("baseline", threads, &few, LAYER_DATA),
                        own_inputs(threads, 64, 42) + conv_winograd4_choice_bytes(3136));
    }
}

/* Few tiles, or weights that no cache holds: inputs are shared, and outputs cut until each thread
 * has two pieces. */
static void few_tiles_and_large_weights_share_their_inputs(void) {
    static const struct conv_layer few = {1, 14, 14, 256, 256, 3, 1, 1, 0};
    static const struct conv_layer large = {16, 28, 28, 512, 512, 3, 1, 1, 0};
    static const struct conv_layer narrow = {1, 14, 14, 64, 64, 3, 1, 1, 0};
    CU_ASSERT_EQUAL(scratch_of("baseline", 1, &few, LAYER_FORWARD),
                    shared_inputs(1, 256, 16, 16, 128));
    CU_ASSERT_EQUAL(scratch_of("baseline", 2, &few, LAYER_FORWARD),
                    shared_inputs(2, 256, 16, 16, 64));
    CU_ASSERT_EQUAL(scratch_of("baseline", 3, &few, LAYER_FORWARD),
                    shared_inputs(3, 256, 16, 16, 32));
    CU_ASSERT_EQUAL(scratch_of("baseline", 5, &few, LAYER_FORWARD),
                    shared_inputs(5, 256, 16, 16, 16));
    /* no fewer than a panel: 8 outputs of narrow registers, 32 of the widest */
    CU_ASSERT_EQUAL(scratch_of("baseline", 16, &narrow, LAYER_FORWARD),
                    shared_inputs(16, 64, 16, 16, 8));
    if (loops_called("avx512") != NULL)
        CU_ASSERT_EQUAL(scratch_of("avx512", 16, &narrow, LAYER_FORWARD),
                        shared_inputs(16, 64, 16, 16, 32));
    /* 16 MiB of inputs: 227 of 784 tiles; their products are made 84 at a time */
    CU_ASSERT_EQUAL(scratch_of("baseline", 2, &large, LAYER_FORWARD),
                    shared_inputs(2, 512, 227, 84, 128));
}

/* On AMX more tiles and all outputs at once, with room to split them, but where channels are few,
 * or weights large and tiles few: these have the plan of the loops without tiles. */
static void tiles_of_amx_take_larger_blocks(void) {
    static const struct conv_layer wide = {1, 100, 136, 128, 256, 3, 1, 1, 0};
    static const struct conv_layer narrow = {1, 100, 136, 64, 256, 3, 1, 1, 0};
    static const struct conv_layer large = {1, 25, 34, 512, 512, 3, 1, 1, 0};
    static const struct conv_layer larger = {1, 50, 68, 512, 512, 3, 1, 1, 0};
    const struct loops *loops = loops_called("amx");
    if (loops == NULL) {
        unit_skip("this processor has no AMX");
        return;
    }
    size_t block = matrix_bytes(128, 128) + matrix_bytes(128, 256) +
                   loops->winograd4_product_scratch(128, 256);
    CU_ASSERT(loops->winograd4_product_scratch(128, 256) >= 6 * 128 * 256);
    CU_ASSERT_EQUAL(scratch_of("amx", 2, &wide, LAYER_FORWARD),
                    backend_aligned(128 * sizeof(float)) + 2 * backend_aligned(block));
    CU_ASSERT_EQUAL(scratch_of("amx", 2, &narrow, LAYER_FORWARD),
                    scratch_of("avx512bf16", 2, &narrow, LAYER_FORWARD));
    CU_ASSERT_EQUAL(scratch_of("amx", 2, &large, LAYER_FORWARD),
                    scratch_of("avx512bf16", 2, &large, LAYER_FORWARD));
    CU_ASSERT(scratch_of("amx", 2, &larger, LAYER_FORWARD) >
              scratch_of("avx512bf16", 2, &larger, LAYER_FORWARD));
}

/* For the data gradient the two pictures swap roles, and the one that is read has two rows and
 * columns of padding before it. */
static void pictures_are_what_is_read_and_what_is_made(void) {
    static const struct conv_layer layer = {2, 9, 14, 32, 48, 3, 1, 0, 0};
    struct conv_layer_ops ops;
    struct winograd4_picture in, out;
    conv_layer_open(&ops, &layer, DTYPE_F32);
    conv_winograd4_pictures(&ops.graph, ops.of[LAYER_FORWARD], &in, &out);
    CU_ASSERT(in.height == 9 && in.width == 14 && in.channels == 32 && in.before == 0);
    CU_ASSERT(out.height == 7 && out.width == 12 && out.channels == 48 && out.before == 0);
    CU_ASSERT(in.images == 2 && in.rows == 2 && in.columns == 3 && winograd4_tiles(&out) == 12);
    conv_winograd4_pictures(&ops.graph, ops.of[LAYER_DATA], &in, &out);
    CU_ASSERT(in.height == 7 && in.width == 12 && in.channels == 48 && in.before == 2);
    CU_ASSERT(out.height == 9 && out.width == 14 && out.channels == 32 && out.before == 0);
    CU_ASSERT(in.rows == 3 && in.columns == 4 && winograd4_tiles(&out) == 24);
    graph_done(&ops.graph);
}

UNIT_SUITE("cpu.conv_winograd4", UNIT(matrices_have_room_behind_them),
           UNIT(many_tiles_are_cut_into_blocks_of_each_thread),
           UNIT(few_tiles_and_large_weights_share_their_inputs),
           UNIT(tiles_of_amx_take_larger_blocks), UNIT(pictures_are_what_is_read_and_what_is_made))
