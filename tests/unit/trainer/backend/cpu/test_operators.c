#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/program.h"

#include <stdlib.h>
#include <string.h>

/* Whole training steps on a small ResNet and rows of the parity test on every table of loops: what
 * the tests of single kernels cannot show. A step must repeat to the bit, with any number of
 * threads, because ranks compare and resumed runs are compared; other numbers of threads may change
 * the last bits only. */

/* A block with a projection and an identity, from bytes to loss. */
enum { BATCH = 3, SIDE = 16, CLASSES = 5, CHANNELS = 64 };

/* A compiled network with its own backend and store; the numbers are its inputs. They live
 * together, as each refers to the one before. */
struct net {
    struct backend *backend;
    struct graph graph;
    struct store store;
    struct program program;
    int image, label, weight;
};

/* Padding keeps the picture's size. */
static int conv(struct graph *graph, const char *name, int x, int inputs, int outputs, int kernel) {
    return graph_conv2d(graph, name, x, inputs, outputs,
                        (struct op_window){.kernel = kernel, .stride = 1, .pad = kernel / 2});
}

/* Batch norm with the usual constants. */
static int norm(struct graph *graph, const char *name, int x) {
    return graph_batch_norm(
        graph, name, x, (struct norm_options){.epsilon = 1e-5, .momentum = 0.1, .gamma = INIT_ONE});
}

/* The stem with pool, a join with a projection and one with an identity, so that each fused
 * operator of a ResNet occurs. Channels are 64, which own kernels need. The loss has smoothed
 * labels and weights per picture. */
static void describe(struct net *n, enum dtype dtype) {
    static const float mean[3] = {0.5F, 0.5F, 0.5F}, std[3] = {0.25F, 0.25F, 0.25F};
    struct graph *g = &n->graph;
    graph_init(g, dtype, true);
    n->image = graph_input(g, "image", DTYPE_U8, shape_4(BATCH, SIDE, SIDE, 3));
    n->label = graph_input(g, "label", DTYPE_I32, shape_1(BATCH));
    n->weight = graph_input(g, "weight", DTYPE_F32, shape_1(BATCH));
    int x = graph_image_normalize(g, n->image, mean, std, 3);
    struct op_window stem = {.kernel = 7, .stride = 2, .pad = 3};
    struct op_window pool = {.kernel = 3, .stride = 2, .pad = 1};
    x = graph_relu(g, norm(g, "bn1", graph_conv2d(g, "conv1", x, 3, CHANNELS, stem)));
    x = graph_max_pool(g, x, pool);
    int side = norm(g, "down.1", conv(g, "down.0", x, CHANNELS, 2 * CHANNELS, 1));
    int y = norm(g, "bn2", conv(g, "conv2", x, CHANNELS, 2 * CHANNELS, 3));
    x = graph_relu(g, graph_add(g, y, side));
    y = norm(g, "bn3", conv(g, "conv3", x, 2 * CHANNELS, 2 * CHANNELS, 3));
    x = graph_relu(g, graph_add(g, y, x));
    int logits = graph_linear(g, "fc", graph_global_avg_pool(g, x), CLASSES);
    (void)graph_softmax_cross_entropy(g, logits, n->label, n->weight, 0.1);
}

/* In the reverse order of gradients(). */
static void net_done(struct net *n) {
    program_done(&n->program);
    store_done(&n->store);
    graph_done(&n->graph);
    backend_close(n->backend);
}

/* Pictures have a pattern without a period that windows share. Weights of 1 let every picture
 * count. */
static void fill(struct net *n) {
    uint8_t *image = program_address(&n->program, n->image);
    int32_t *label = program_address(&n->program, n->label);
    float *weight = program_address(&n->program, n->weight);
    for (int i = 0; i < BATCH * SIDE * SIDE * 3; i++)
        image[i] = (uint8_t)(i * 73 % 251);
    for (int i = 0; i < BATCH; i++) {
        label[i] = i % CLASSES;
        weight[i] = 1;
    }
}

/* The gradients of one step; COUNT floats, to be freed. Everything is opened anew, so two calls
 * share no state. The padding of arenas is not copied. The seed of the weights is fixed. */
static float *gradients(enum dtype dtype, int threads, enum fusion fusion, size_t *ret_count) {
    struct net n = {0};
    struct error err = {0};
    struct cpu_options options = {.threads = threads};
    struct compile_options compile = {.fusion = fusion};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&n.backend, &options, &err), 0);
    describe(&n, dtype);
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&n.program, &n.graph, &n.store, n.backend, &compile, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&n.store, 1, &err), 0);
    fill(&n);
    CU_ASSERT_EQUAL_FATAL(program_run(&n.program, NULL, &err), 0);
    *ret_count = n.store.flags;
    float *copy = malloc(*ret_count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, n.store.arena[STORE_GRADIENTS], *ret_count * sizeof(float));
    net_done(&n);
    return copy;
}

/* Equal gradients of zeros would prove nothing. */
static bool any_nonzero(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i] > 0 || values[i] < 0)
            return true;
    return false;
}

/* Bits are compared, by memcmp, for one to three threads. Three threads do not divide the work
 * evenly. A first step also packs the weights, which is repeated, too. */
static void check_repeats(enum dtype dtype) {
    for (int threads = 1; threads <= 3; threads++) {
        size_t count = 0, again = 0;
        float *first = gradients(dtype, threads, FUSION_CONV, &count);
        float *second = gradients(dtype, threads, FUSION_CONV, &again);
        CU_ASSERT_EQUAL_FATAL(count, again);
        CU_ASSERT(any_nonzero(first, count));
        CU_ASSERT_EQUAL(memcmp(first, second, count * sizeof(float)), 0);
        free(first);
        free(second);
    }
}

/* The same on all machines, whatever kernels were chosen. */
static void a_step_repeats_to_the_bit_in_f32(void) {
    check_repeats(DTYPE_F32);
}

/* On processors without bf16, oneDNN computes in f32 around conversions. */
static void a_step_repeats_to_the_bit_in_bf16(void) {
    check_repeats(DTYPE_BF16);
}

/* Per-channel sums are cut by shape, so most gradients are equal; oneDNN's convolutions may cut
 * theirs by threads. The bound is relative to the largest gradient of all. */
static void check_threads(enum fusion fusion) {
    size_t count = 0;
    float *one = gradients(DTYPE_F32, 1, fusion, &count);
    float *three = gradients(DTYPE_F32, 3, fusion, &count);
    float most = 0, apart = 0;
    for (size_t i = 0; i < count; i++) {
        float difference = one[i] > three[i] ? one[i] - three[i] : three[i] - one[i];
        apart = difference > apart ? difference : apart;
        most = one[i] > most ? one[i] : most;
    }
    CU_ASSERT(most > 0);
    CU_ASSERT(apart <= 1e-4F * most);
    free(one);
    free(three);
}

/* Fused and separate operators have different kernels. */
static void the_number_of_threads_changes_rounding_alone(void) {
    check_threads(FUSION_NONE);
    check_threads(FUSION_ALL);
}

/* Small rows of all that is not oneDNN's alone; tests/ops has them all, on the widest loops. Names
 * are parts of the names of rows in tests/ops, separated by bars. */
static const char rows[] =
    "image padded|relu odd|sigmoid tiny|add tiny|add relu tiny|bias tiny|bias relu tiny|bias odd|"
    "upsample add tiny|norm tiny|norm odd|norm relu odd|join tiny|join odd|pool tiny|pool 2x2|"
    "frozen join tiny|frozen norm relu tiny|inference join odd|every second pixel|average pool|"
    "loss tiny|loss smoothed|not finite|with NaN|total loss|class conv tiny|class conv of nothing|"
    "mask loss|box loss|roi align tiny|roi align of empty|roi align by|mask rows|of nothing|top 1|"
    "conv odd channels|conv 1x1 stride 2 odd|conv 3x3 stride 2 odd";

/* The table is set in an open backend. Own bf16 kernels are kept only with the loops for which they
 * were enabled. */
static void check_rows(const struct loops *loops, int threads) {
    struct backend *backend = NULL;
    struct cpu_options options = {.threads = threads};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    struct cpu *cpu = (struct cpu *)backend;
    cpu->own_products &= loops == loops_best();
    cpu->loops = loops;
    parity_check_rows(backend, DTYPE_F32, PARITY_ALL, rows);
    parity_check_rows(backend, DTYPE_BF16, PARITY_ALL, rows);
    backend_close(backend);
}

/* Numbers of threads alternate, which covers partial shares without three times the work. The
 * widest loops are run once more with three threads. */
static void operators_agree_with_the_reference_on_all_loops(void) {
    int threads = 0;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        check_rows(*loops, 1 + threads++ % 3);
    check_rows(loops_best(), 3);
}

UNIT_SUITE("cpu.operators", UNIT(a_step_repeats_to_the_bit_in_f32),
           UNIT(a_step_repeats_to_the_bit_in_bf16),
           UNIT(the_number_of_threads_changes_rounding_alone),
           UNIT(operators_agree_with_the_reference_on_all_loops))
