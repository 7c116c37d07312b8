/* How the work of our own bf16 convolutions is cut; test_loop_point.c and test_loop_winograd.c test
 * the loops. */
#include "tests/support/unit.h"
#include "trainer/backend/cpu/conv/conv_bf16.h"
#include "trainer/graph/build/build.h"

struct layer {
    int64_t images, height, width, in, out;
    int kernel;
};

/* Pictures of odd and even sizes, fewer rows than threads, and enough rows for many units. */
static const struct layer layers[] = {
    {1, 1, 1, 64, 64, 1},    {1, 5, 7, 32, 64, 1},   {2, 14, 14, 64, 128, 1},
    {3, 28, 27, 32, 64, 1},  {1, 1, 1, 64, 64, 3},   {1, 5, 7, 32, 64, 3},
    {2, 14, 14, 64, 128, 3}, {3, 27, 28, 32, 64, 3}, {2, 56, 56, 512, 64, 3},
    {1, 7, 200, 64, 64, 3},
};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]), THREADS_MOST = 5 };

static const struct loops *loops_with_bf16(void) {
    const struct point form = {.in = 64, .out = 64};
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        if (loops_have_point(*loops, &form))
            return *loops;
    return NULL;
}

static struct conv_bf16 plan(const struct cpu *cpu, const struct layer *l) {
    struct graph graph;
    struct conv_bf16 conv;
    graph_init(&graph, DTYPE_BF16, true);
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_4(l->images, l->height, l->width, l->in));
    (void)graph_conv2d(&graph, "layer", x, l->in, l->out,
                       (struct op_window){.kernel = l->kernel, .stride = 1, .pad = l->kernel / 2});
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT_FATAL(conv_bf16_has(cpu, &graph, &graph.ops[0]));
    conv_bf16_plan(&conv, cpu, &graph, &graph.ops[0]);
    graph_done(&graph);
    return conv;
}

/* Each row of the result belongs to one unit, and units follow one another without gaps. */
static void check_rows(const struct conv_bf16 *conv, const struct layer *l) {
    size_t next = 0;
    for (size_t unit = 0; unit < conv->units; unit++) {
        size_t begin = 0, end = 0;
        conv_bf16_rows(conv, unit, &begin, &end);
        CU_ASSERT_EQUAL(begin, next);
        CU_ASSERT(end >= begin);
        CU_ASSERT(l->kernel == 3 || (end > begin && end - begin <= POINT_ROWS));
        next = end;
    }
    CU_ASSERT_EQUAL(next, l->images * l->height * l->width);
}

/* The longest unit's share of the rows. */
static double longest(const struct conv_bf16 *conv) {
    size_t most = 0;
    for (size_t unit = 0; unit < conv->units; unit++) {
        size_t begin = 0, end = 0;
        conv_bf16_rows(conv, unit, &begin, &end);
        most = end - begin > most ? end - begin : most;
    }
    return (double)most / (double)conv->rows;
}

static void units_are_all_rows_and_enough_for_the_threads(void) {
    struct cpu cpu = {.own_products = true, .loops = loops_with_bf16()};
    if (cpu.loops == NULL) {
        unit_skip("this processor has no bf16 products of its own");
        return;
    }
    for (cpu.threads = 1; cpu.threads <= THREADS_MOST; cpu.threads++)
        for (int i = 0; i < LAYERS; i++) {
            const struct layer *l = &layers[i];
            struct conv_bf16 conv = plan(&cpu, l);
            size_t tiles = winograd_tiles((size_t)l->height) * (size_t)l->images;
            CU_ASSERT_EQUAL(conv.is_point, l->kernel == 1);
            check_rows(&conv, l);
            if (l->kernel == 3) /* equally many for each thread */
                CU_ASSERT_EQUAL(conv.units % (size_t)cpu.threads, 0);
            if (conv.rows >= 100 && (l->kernel == 1 || tiles >= (size_t)cpu.threads))
                CU_ASSERT(longest(&conv) <= 1.5 / cpu.threads);
        }
}

/* A unit has as many lines of tiles as share one reading of the weights, but at least one line. */
static void winograds_units_are_as_long_as_a_block(void) {
    struct cpu cpu = {.own_products = true, .threads = 2, .loops = loops_with_bf16()};
    static const struct layer many = {8, 56, 56, 64, 64, 3}, wide = {1, 64, 400, 64, 64, 3};
    if (cpu.loops == NULL) {
        unit_skip("this processor has no bf16 products of its own");
        return;
    }
    struct conv_bf16 conv = plan(&cpu, &many);
    size_t block = cpu.loops->winograd_block(&conv.winograd);
    CU_ASSERT_EQUAL(conv.lines, 8 * 28);
    CU_ASSERT(conv.lines * 28 <= conv.units * block);
    CU_ASSERT(conv.lines * 28 * 3 > conv.units * block * 2);
    CU_ASSERT_EQUAL(conv.scratch % BACKEND_ALIGNMENT, 0);
    CU_ASSERT(conv.scratch >= cpu.loops->winograd_scratch(&conv.winograd));
    CU_ASSERT_EQUAL(conv_bf16_packed(&conv), 16 * 64 * 64 * 2);
    conv = plan(&cpu, &wide); /* a line is longer than a block */
    CU_ASSERT_EQUAL(conv.units, 32);
}

/* 1x1 convolutions: four units for each thread, each consisting of whole tiles of seven rows. */
static void units_of_few_rows_are_cut_smaller(void) {
    struct cpu cpu = {.own_products = true, .loops = loops_with_bf16()};
    static const struct layer few = {1, 14, 14, 64, 128, 1}, many = {16, 56, 56, 64, 64, 1};
    if (cpu.loops == NULL) {
        unit_skip("this processor has no bf16 products of its own");
        return;
    }
    cpu.threads = 4;
    struct conv_bf16 conv = plan(&cpu, &few); /* 196 rows in 16 units: 12 each */
    CU_ASSERT_EQUAL(conv.unit_rows, 14);
    CU_ASSERT_EQUAL(conv.units, 14);
    CU_ASSERT_EQUAL(conv_bf16_packed(&conv), 64 * 128 * 2);
    CU_ASSERT_EQUAL(conv.scratch, 0);
    conv = plan(&cpu, &many);
    CU_ASSERT_EQUAL(conv.unit_rows, POINT_ROWS);
    CU_ASSERT_EQUAL(conv.units, 16 * 56);
}

UNIT_SUITE("cpu.conv_bf16", UNIT(units_are_all_rows_and_enough_for_the_threads),
           UNIT(winograds_units_are_as_long_as_a_block), UNIT(units_of_few_rows_are_cut_smaller))
