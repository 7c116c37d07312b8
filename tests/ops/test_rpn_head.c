/* A region proposal network on two levels of a small pyramid, which share its weights: its backward
 * pass for the sampled anchors alone (fuse/fuse_rpn.c) gives the gradients of the plain one. */
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/build/build_rpn.h"
#include "trainer/graph/program/program.h"
#include "trainer/math/anchor.h"
#include "trainer/math/image_size.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PICTURES = 2, SIDE = 64, CHANNELS = 12, SLOTS = 3, LEVELS = 2 };

static const struct detect_attr attr = {.canvas_h = SIDE,
                                        .canvas_w = SIDE,
                                        .levels = LEVELS,
                                        .stride_h = {4, 8},
                                        .stride_w = {4, 8},
                                        .half_w = {{6, 4, 3}, {11, 8, 6}},
                                        .half_h = {{3, 4, 6}, {6, 8, 11}},
                                        .pre_nms = 50,
                                        .post_nms = 40,
                                        .samples = 48,
                                        .positives = 24,
                                        .nms_threshold = 0.7F,
                                        .foreground_iou = 0.5F,
                                        .background_iou = 0.3F,
                                        .min_side = 1e-3F,
                                        .coder = {1, 1, 1, 1},
                                        .beta = 1 / 9.0F};

struct rpn {
    struct graph graph;
    struct store store;
    struct program program;
    struct backend *backend; /* owned */
};

/* --- the network ------------------------------------------------------------------------------ */

static int pyramid(struct graph *graph, int levels[LEVELS]) {
    static const float mean[3] = {0.5F, 0.5F, 0.5F}, std[3] = {0.25F, 0.25F, 0.25F};
    struct op_window half = {.kernel = 3, .stride = 2, .pad = 1};
    int image = graph_input(graph, "image", DTYPE_U8, shape_4(PICTURES, SIDE, SIDE, 3));
    int x = graph_image_normalize(graph, image, mean, std, 3);
    x = graph_relu(graph, graph_conv2d(graph, "a", x, 3, CHANNELS, half));
    levels[0] = graph_conv2d(graph, "b", x, CHANNELS, CHANNELS, half);
    levels[1] = graph_conv2d(graph, "c", levels[0], CHANNELS, CHANNELS, half);
    return image;
}

static void heads(struct graph *graph, const int levels[LEVELS], int logits[LEVELS],
                  int deltas[LEVELS]) {
    struct graph_weights conv = graph_conv2d_weights(graph, "conv", CHANNELS, CHANNELS, 3);
    struct graph_weights cls = graph_linear_weights(graph, "cls", CHANNELS, ANCHOR_SHAPES);
    struct graph_weights box = graph_linear_weights(graph, "box", CHANNELS, 4 * ANCHOR_SHAPES);
    conv.bias = graph_bias_parameter(graph, "conv", CHANNELS, INIT_UNIFORM_BIAS, 9 * CHANNELS);
    for (int i = 0; i < LEVELS; i++) {
        struct op_window same = {.kernel = 3, .stride = 1, .pad = 1};
        int t = graph_conv2d_bias_with(graph, "conv", levels[i], &conv, same, true);
        logits[i] = graph_linear_with(graph, "cls", t, &cls);
        deltas[i] = graph_linear_with(graph, "box", t, &box);
    }
}

static void build(struct graph *graph, enum dtype dtype) {
    struct error err = {0};
    int levels[LEVELS], logits[LEVELS], deltas[LEVELS];
    graph_init(graph, dtype, true);
    (void)pyramid(graph, levels);
    heads(graph, levels, logits, deltas);
    int size = graph_input(graph, "image_size", DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS));
    int truth = graph_input(graph, "gt_box", DTYPE_F32, shape_3(PICTURES, SLOTS, 4));
    int count = graph_input(graph, "gt_count", DTYPE_I32, shape_1(PICTURES));
    int key = graph_input(graph, "key", DTYPE_I32, shape_2(PICTURES, SAMPLE_KEY_WORDS));
    struct rpn_proposals proposals = graph_proposals(graph, "rpn", logits, deltas, size, &attr);
    (void)graph_keep(graph, proposals.count, "proposals");
    struct rpn_samples samples = graph_rpn_targets(graph, "rpn", truth, count, size, key, &attr);
    (void)graph_keep(graph, graph_rpn_loss(graph, "rpn", logits, deltas, &samples, &attr),
                     "losses");
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, &err), 0);
}

static void write(struct rpn *rpn, const char *name, const void *values, size_t bytes) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(program_write(&rpn->program, name, values, bytes, &err), 0);
}

static void feed(struct rpn *rpn) {
    static uint8_t image[PICTURES * SIDE * SIDE * 3];
    static const int32_t sizes[PICTURES][IMAGE_SIZE_FIELDS] = {{1, 1, 64, 64, 0, 1},
                                                               {1, 1, 60, 50, 0, 1}};
    static const float truth[PICTURES][SLOTS][4] = {
        {{10, 10, 19, 21}, {30, 34, 50, 47}, {0, 0, 8, 8}}, {{20, 8, 28, 16}}};
    static const int32_t counts[PICTURES] = {3, 1};
    static const int32_t keys[PICTURES][SAMPLE_KEY_WORDS] = {{5, 0, 1, 0}, {5, 0, 1, 1}};
    struct random random = random_stream(4, 0, 0);
    for (size_t i = 0; i < sizeof(image); i++)
        image[i] = (uint8_t)random_below(&random, 256);
    write(rpn, "image", image, sizeof(image));
    write(rpn, "image_size", sizes, sizeof(sizes));
    write(rpn, "gt_box", truth, sizeof(truth));
    write(rpn, "gt_count", counts, sizeof(counts));
    write(rpn, "key", keys, sizeof(keys));
}

/* Runs one step. */
static void run_network(struct rpn *rpn, struct backend *backend, enum dtype dtype,
                        enum fusion fusion) {
    const struct compile_options options = {.fusion = fusion};
    struct error err = {0};
    *rpn = (struct rpn){.backend = backend};
    build(&rpn->graph, dtype);
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&rpn->program, &rpn->graph, &rpn->store, backend, &options, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&rpn->store, 1, &err), 0);
    feed(rpn);
    CU_ASSERT_EQUAL_FATAL(program_run(&rpn->program, NULL, &err), 0);
}

static void done(struct rpn *rpn) {
    program_done(&rpn->program);
    store_done(&rpn->store);
    graph_done(&rpn->graph);
    backend_close(rpn->backend);
}

static int count_kind(const struct rpn *rpn, enum op_kind kind) {
    int count = 0;
    for (int i = 0; i < rpn->graph.op_count; i++)
        count += rpn->graph.ops[i].kind == kind;
    return count;
}

/* --- comparing -------------------------------------------------------------------------------- */

static const float *gradient(struct rpn *rpn, const char *name, size_t *ret_count) {
    struct error err = {0};
    void *host = NULL;
    const struct store_slot *slot = store_find(&rpn->store, name);
    CU_ASSERT_EQUAL_FATAL(store_pull(&rpn->store, STORE_GRADIENTS, &host, &err), 0);
    *ret_count = slot->count;
    return (const float *)host + slot->first;
}

static void compare(struct rpn *sparse, struct rpn *dense, double bound) {
    static const char *const names[] = {"a.weight",    "b.weight",   "c.weight",
                                        "conv.weight", "conv.bias",  "cls.weight",
                                        "cls.bias",    "box.weight", "box.bias"};
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        size_t count;
        double worst = 0, largest = 0;
        const float *left = gradient(sparse, names[k], &count);
        const float *right = gradient(dense, names[k], &count);
        for (size_t i = 0; i < count; i++) {
            worst = fmax(worst, fabs((double)left[i] - (double)right[i]));
            largest = fmax(largest, fabs((double)right[i]));
        }
        if (!(worst <= bound * largest))
            printf("%s: %.3g apart, at most %.3g\n", names[k], worst / largest, bound);
        CU_ASSERT(worst <= bound * largest);
        CU_ASSERT(largest > 0);
    }
}

static void check(struct backend *(*open_backend)(void), enum dtype dtype, double bound) {
    struct rpn sparse, dense;
    struct error err = {0};
    float losses[2][RPN_LOSSES];
    int32_t proposals[PICTURES] = {0};
    run_network(&dense, open_backend(), dtype, FUSION_NONE);
    run_network(&sparse, open_backend(), dtype, FUSION_ALL);
    CU_ASSERT_EQUAL(count_kind(&dense, OP_RPN_LOSS_GRAD), LEVELS);
    CU_ASSERT_EQUAL(count_kind(&dense, OP_RPN_HEAD_GRAD), 0);
    CU_ASSERT_EQUAL(count_kind(&sparse, OP_RPN_LOSS_GRAD), 0);
    CU_ASSERT_EQUAL(count_kind(&sparse, OP_RPN_HEAD_GRAD), LEVELS);
    CU_ASSERT_EQUAL(count_kind(&sparse, OP_LINEAR_GRAD_DATA), 0);
    CU_ASSERT_EQUAL(program_read(&dense.program, "losses", losses[0], sizeof(losses[0]), &err), 0);
    CU_ASSERT_EQUAL(program_read(&sparse.program, "losses", losses[1], sizeof(losses[1]), &err), 0);
    CU_ASSERT_EQUAL(program_read(&sparse.program, "proposals", proposals, sizeof(proposals), &err),
                    0);
    /* In bf16 a convolution that adds its bias itself rounds once less. */
    const float apart = dtype == DTYPE_F32 ? 0 : (float)bound;
    for (int i = 0; i < RPN_LOSSES; i++)
        CU_ASSERT(losses[0][i] > 0 && fabsf(losses[0][i] - losses[1][i]) <= apart * losses[0][i]);
    CU_ASSERT_EQUAL(losses[0][RPN_LOSS_SAMPLED], PICTURES * attr.samples);
    CU_ASSERT_EQUAL(proposals[0], attr.post_nms);
    compare(&sparse, &dense, bound);
    done(&sparse);
    done(&dense);
}

static struct backend *open_ref(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    return backend;
}

static void the_reference_gives_the_same_gradients(void) {
    check(open_ref, DTYPE_F32, 1e-6);
}

#ifdef RINGMASTER_HAVE_CPU
static struct backend *open_cpu(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, &err), 0);
    return backend;
}

static void so_does_the_cpu(void) {
    check(open_cpu, DTYPE_F32, 1e-6);
}

/* In bf16 the plain pass rounds every result between operators. */
static void and_in_bf16_but_for_rounding(void) {
    check(open_cpu, DTYPE_BF16, 2e-2);
}
#define CPU_CASES , UNIT(so_does_the_cpu), UNIT(and_in_bf16_but_for_rounding)
#else
#define CPU_CASES
#endif

UNIT_SUITE("ops.rpn_head", UNIT(the_reference_gives_the_same_gradients) CPU_CASES)
