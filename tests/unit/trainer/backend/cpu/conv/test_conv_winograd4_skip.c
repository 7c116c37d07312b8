/* Which tiles of a gradient are computed; the others become zeros. */
#include "tests/support/unit.h"
#include "trainer/backend/cpu/conv/conv_winograd4.h"
#include "trainer/backend/cpu/conv/conv_winograd4_skip.h"

/* 40 tiles in each of two pictures; the last tile of each row and column exceeds the edge. */
enum { IMAGES = 2, HEIGHT = 18, WIDTH = 30, CHANNELS = 16, ROWS = 5, COLUMNS = 8 };
enum { TILES = IMAGES * ROWS * COLUMNS, PIXELS = IMAGES * HEIGHT * WIDTH };
enum { SAMPLE = 16 };

static const struct winograd4_picture picture = {IMAGES, HEIGHT,  WIDTH, CHANNELS,
                                                 ROWS,   COLUMNS, 0,     NULL};
static const float zeros[CHANNELS];

struct gradient {
    float values[PIXELS * CHANNELS];
    _Alignas(BACKEND_ALIGNMENT) char scratch[2048];
    struct conv_winograd4_choice choice;
};

static size_t tile_of(size_t pixel) {
    size_t image = pixel / WIDTH / HEIGHT;
    return (image * ROWS + pixel / WIDTH % HEIGHT / 4) * COLUMNS + pixel % WIDTH / 4;
}

/* Sets a value in one pixel of each tile that is marked in USED. */
static void fill(struct gradient *g, const bool used[TILES]) {
    bool done[TILES] = {false};
    memset(g, 0, sizeof(*g));
    for (size_t pixel = PIXELS; pixel-- > 0;) {
        size_t tile = tile_of(pixel);
        if (used[tile] && !done[tile])
            g->values[pixel * CHANNELS + pixel % CHANNELS] = -1;
        done[tile] = true;
    }
}

static void choose(struct gradient *g, int threads) {
    const struct cpu cpu = {.threads = threads, .loops = loops_best()};
    CU_ASSERT_FATAL(conv_winograd4_choice_bytes(TILES) <= sizeof(g->scratch));
    g->choice = (struct conv_winograd4_choice){.tiles = TILES, .scratch = g->scratch};
    conv_winograd4_choose(&cpu, &picture, g->values, zeros, 4, &g->choice);
}

/* The pixels of skipped tiles become zero, and no other pixel is changed. */
static void check_cleared(const struct gradient *g, int threads, const bool used[TILES]) {
    const struct cpu cpu = {.threads = threads, .loops = loops_best()};
    static float y[PIXELS * CHANNELS + 1];
    for (size_t i = 0; i <= PIXELS * CHANNELS; i++)
        y[i] = 7;
    conv_winograd4_clear(&cpu, &picture, &g->choice, y);
    for (size_t i = 0; i < PIXELS * CHANNELS; i++)
        CU_ASSERT_EQUAL(y[i], used[tile_of(i / CHANNELS)] ? 7 : 0);
    CU_ASSERT_EQUAL(y[PIXELS * CHANNELS], 7);
}

static void check_sparse(const bool used[TILES]) {
    static struct gradient g;
    size_t count = 0;
    for (int threads = 1; threads <= 3; threads++) {
        fill(&g, used);
        choose(&g, threads);
        CU_ASSERT_PTR_NOT_NULL_FATAL(g.choice.chosen);
        count = 0;
        for (size_t tile = 0; tile < TILES; tile++) {
            if (!used[tile])
                continue;
            CU_ASSERT_FATAL(count < g.choice.count);
            CU_ASSERT_EQUAL(g.choice.chosen[count], tile);
            count++;
        }
        CU_ASSERT_EQUAL(count, g.choice.count);
        check_cleared(&g, threads, used);
    }
}

static void tiles_of_zeros_are_left_out(void) {
    bool used[TILES] = {false};
    check_sparse(used);
    used[3] = used[31] = used[32] = used[39] = used[40] = used[TILES - 1] = true;
    check_sparse(used);
    for (size_t tile = 1; tile < TILES; tile++)
        used[tile] = true;
    check_sparse(used); /* one of the five sampled tiles is zero */
}

/* The gradient counts as dense: no sampled tile is zero, and more than one in eight would have to
 * be. */
static void a_dense_gradient_is_taken_whole(void) {
    static struct gradient g;
    bool used[TILES];
    for (size_t tile = 0; tile < TILES; tile++)
        used[tile] = tile % SAMPLE == 0;
    fill(&g, used);
    choose(&g, 2);
    CU_ASSERT_PTR_NULL(g.choice.chosen);
    CU_ASSERT_EQUAL(g.choice.count, TILES);
    const struct cpu cpu = {.threads = 2, .loops = loops_best()};
    float before[CHANNELS];
    memcpy(before, g.values, sizeof(before));
    conv_winograd4_clear(&cpu, &picture, &g.choice, g.values); /* no tile is skipped */
    CU_ASSERT_EQUAL(memcmp(before, g.values, sizeof(before)), 0);
}

/* Eight of the 128 tiles are sampled. */
static void one_of_eight_is_worth_no_search(void) {
    static const struct winograd4_picture line = {1, 4, 512, CHANNELS, 1, 128, 0, NULL};
    static float values[4 * 512 * CHANNELS];
    static _Alignas(BACKEND_ALIGNMENT) char scratch[2048];
    const struct cpu cpu = {.threads = 2, .loops = loops_best()};
    struct conv_winograd4_choice choice = {.tiles = 128, .scratch = scratch};
    CU_ASSERT_FATAL(conv_winograd4_choice_bytes(128) <= sizeof(scratch));
    for (size_t tile = 0; tile < 128; tile++)
        values[tile * 4 * CHANNELS] = 1;
    values[0] = 0;
    conv_winograd4_choose(&cpu, &line, values, zeros, 4, &choice);
    CU_ASSERT_PTR_NULL(choice.chosen);
    values[(size_t)64 * 4 * CHANNELS] = 0;
    conv_winograd4_choose(&cpu, &line, values, zeros, 4, &choice);
    CU_ASSERT_PTR_NOT_NULL(choice.chosen);
    CU_ASSERT_EQUAL(choice.count, 126);
}

UNIT_SUITE("cpu.conv_winograd4_skip", UNIT(tiles_of_zeros_are_left_out),
           UNIT(a_dense_gradient_is_taken_whole), UNIT(one_of_eight_is_worth_no_search))
