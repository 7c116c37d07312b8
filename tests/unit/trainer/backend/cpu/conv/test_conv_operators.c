/* Which kernel computes a convolution according to the measured rules, on either side of each
 * bound. */
#include "tests/support/conv_layer.h"
#include "trainer/backend/cpu/conv/conv_operators.h"
#include "trainer/backend/cpu/operators.h"

#include <stdio.h>

/* The rules were measured (bench/resnet_cpu.sh). Here they are held to the bounds they state: a
 * layer just inside each bound, and one just outside. No kernel runs, and only shapes are given, so
 * large layers cost nothing. Tables of loops are looked up by name; a processor that cannot run one
 * skips its rows. */

#define DNN &conv_dnn_kernel
#define DNN_WEIGHT &conv_dnn_weight_kernel
#define OWN &conv_bf16_kernel
#define OWN_WEIGHT &conv_weight_kernel
#define GEMM &conv_gemm_kernel
#define GEMM_WEIGHT &conv_gemm_weight_kernel
#define WINOGRAD &conv_winograd4_kernel
#define WINOGRAD_WEIGHT &conv_winograd4_weight_kernel

/* A layer and the kernel that is expected for each of its three passes. Sizes are images, height,
 * width, inputs, outputs, kernel, stride, padding, and stored channels if they are more than the
 * inputs. A stored number of 0 means as many as inputs. */
struct choice {
    const char *what;
    struct conv_layer layer;
    const struct conv_kernel *forward, *data, *weight;
};

/* Compares addresses of rows of the table, which are unique. The layer's name is printed, as an
 * assertion alone would not tell which row failed. LAYER_AFFINE, the pass with an epilogue, has its
 * own tests below. */
static void check(const struct cpu *cpu, enum dtype dtype, const struct choice *c) {
    const struct conv_kernel *expected[] = {c->forward, c->data, c->weight};
    struct conv_layer_ops ops;
    conv_layer_open(&ops, &c->layer, dtype);
    for (int i = 0; i < LAYER_AFFINE; i++) {
        bool right = conv_kernel_of(cpu, &ops.graph, ops.of[i]) == expected[i];
        if (!right)
            printf("%s, %s: another kernel\n", c->what, op_name(ops.of[i]->kind));
        CU_ASSERT(right);
    }
    graph_done(&ops.graph);
}

/* Checks nothing if the processor lacks these loops. OWN stands for a processor with AVX-512 BF16
 * and without AMX, as cpu_open() finds it. */
static void check_all(const char *loops, bool own, enum cpu_convs convs, enum dtype dtype,
                      const struct choice *choices, size_t count) {
    struct cpu cpu = {
        .threads = 2, .own_products = own, .convs = convs, .loops = loops_called(loops)};
    CU_ASSERT_EQUAL(count > 0, true);
    for (size_t i = 0; i < count && cpu.loops != NULL; i++)
        check(&cpu, dtype, &choices[i]);
}

/* The number of rows is counted from the array. */
#define CHECK_ALL(loops, own, convs, dtype, choices)                                               \
    check_all(loops, own, convs, dtype, choices, sizeof(choices) / sizeof((choices)[0]))

/* The measured bounds (conv_winograd4.c): channels, pixels, and the share of the tiles' pixels that
 * are inside the picture. Rows at a bound have it as their name. */
static const struct choice winograds[] = {
    {"a ResNet's 56x56", {16, 56, 56, 64, 64, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"a detector's", {1, 25, 34, 256, 256, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"32 channels", {16, 32, 32, 32, 32, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"16 to 64", {16, 32, 32, 16, 64, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"without padding", {4, 30, 30, 64, 64, 3, 1, 0, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"6x6", {16, 6, 6, 256, 256, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"half in the picture", {32, 4, 2, 256, 256, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"192 pixels", {1, 4, 48, 256, 256, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
    {"1x14x14", {1, 14, 14, 256, 256, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
};

/* Layers outside these bounds, most of which use oneDNN; only with AVX-512, where no other kernel
 * is faster. A row's comment is its name: what keeps Winograd from it. */
static const struct choice no_winograds[] = {
    {"few channels", {16, 32, 32, 16, 48, 3, 1, 1, 0}, DNN, DNN, DNN_WEIGHT},
    {"no multiples of 16 read", {16, 32, 32, 72, 64, 3, 1, 1, 0}, DNN, DNN, DNN_WEIGHT},
    {"no multiples of 16 made", {16, 32, 32, 64, 72, 3, 1, 1, 0}, DNN, DNN, DNN_WEIGHT},
    {"a padded picture", {16, 32, 32, 64, 64, 3, 1, 1, 48}, DNN, DNN, DNN_WEIGHT},
    {"less than half in the picture", {16, 5, 5, 256, 256, 3, 1, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"188 pixels", {1, 4, 47, 256, 256, 3, 1, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"stride 2", {16, 56, 56, 64, 64, 3, 2, 1, 0}, DNN, GEMM, DNN_WEIGHT},
    {"padding of 2", {16, 56, 56, 64, 64, 3, 1, 2, 0}, DNN, DNN, DNN_WEIGHT},
    {"1x1", {16, 56, 56, 272, 272, 1, 1, 0, 0}, DNN, DNN, DNN_WEIGHT},
    {"5x5", {16, 56, 56, 64, 64, 5, 1, 1, 0}, DNN, DNN, DNN_WEIGHT},
};

/* The same layers with AVX-512 and with AVX2; narrower registers and bf16 never take them. */
static void winograds_products_are_taken_where_they_pay(void) {
    CHECK_ALL("avx512", false, CPU_CONVS_AUTO, DTYPE_F32, winograds);
    CHECK_ALL("avx2", false, CPU_CONVS_AUTO, DTYPE_F32, winograds);
    CHECK_ALL("avx512", false, CPU_CONVS_AUTO, DTYPE_F32, no_winograds);
    static const struct choice others[] = {
        {"f32 on narrow registers", {16, 56, 56, 64, 64, 3, 1, 1, 0}, DNN, DNN, DNN_WEIGHT}};
    CHECK_ALL("baseline", false, CPU_CONVS_AUTO, DTYPE_F32, others);
    CHECK_ALL("avx512", false, CPU_CONVS_AUTO, DTYPE_BF16, others);
}

/* Choices in f32 with AVX2 (conv_gemm.c, conv_weight.c). The weight gradient has rules of its own:
 * it takes GEMM also for layers with other kernels forward, because oneDNN's sums would depend on
 * the number of threads. Stems and padded pictures show which sizes fill no vector. */
static const struct choice products[] = {
    {"1x1 of many pictures", {16, 56, 56, 64, 256, 1, 1, 0, 0}, GEMM, GEMM, GEMM_WEIGHT},
    {"a small stem of many pictures", {16, 32, 32, 3, 64, 3, 2, 1, 0}, DNN, DNN, DNN_WEIGHT},
    {"1x1, 12544 pixels", {4, 56, 56, 64, 256, 1, 1, 0, 0}, GEMM, GEMM, GEMM_WEIGHT},
    {"1x1, fewer", {1, 112, 111, 64, 256, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
    {"1x1 of many channels", {1, 7, 7, 256, 256, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
    {"1x1 to fewer", {1, 7, 7, 256, 240, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
    {"1x1 from fewer", {1, 7, 7, 240, 256, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
    {"1x1 of stride 2", {1, 8, 8, 64, 128, 1, 2, 0, 0}, DNN, GEMM, GEMM_WEIGHT},
    {"1x1 of stride 2, 16 channels", {1, 8, 8, 16, 64, 1, 2, 0, 0}, DNN, GEMM, GEMM_WEIGHT},
    {"3x3 of stride 2", {1, 8, 8, 64, 64, 3, 2, 1, 0}, DNN, GEMM, GEMM_WEIGHT},
    {"3x3 of stride 3", {1, 9, 9, 64, 64, 3, 3, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"3x3 of few pixels", {1, 5, 5, 16, 16, 3, 1, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"3x3 of many pixels", {4, 56, 56, 16, 16, 3, 1, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"5x5 of stride 2", {1, 9, 9, 16, 16, 5, 2, 2, 0}, DNN, DNN, GEMM_WEIGHT},
    {"a ResNet's stem", {1, 32, 32, 3, 64, 7, 2, 3, 0}, DNN, DNN, GEMM_WEIGHT},
    {"a small stem", {1, 32, 32, 3, 64, 3, 2, 1, 0}, DNN, DNN, GEMM_WEIGHT},
    {"a padded picture", {1, 8, 8, 64, 64, 3, 2, 1, 48}, DNN, DNN, DNN_WEIGHT},
    {"outputs beside vectors", {1, 8, 8, 64, 72, 3, 2, 1, 0}, DNN, DNN, DNN_WEIGHT},
    {"inputs beside vectors", {1, 8, 8, 72, 64, 3, 2, 1, 0}, DNN, DNN, DNN_WEIGHT},
};

/* Each instruction set has bounds of its own; rows that differ in one number alone stand on either
 * side. A rule without a bound appears once. */
static void products_of_matrices_are_taken_where_they_pay(void) {
    CHECK_ALL("avx2", false, CPU_CONVS_AUTO, DTYPE_F32, products);
    /* Other instruction sets use GEMM where oneDNN's sums would depend on the number of threads. */
    static const struct choice others[] = {
        {"stride 2", {8, 112, 112, 512, 512, 3, 2, 1, 0}, DNN, GEMM, DNN_WEIGHT},
        {"1x1", {8, 112, 112, 512, 512, 1, 1, 0, 0}, DNN, DNN, DNN_WEIGHT},
        {"of 7 pictures", {7, 112, 112, 512, 512, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
        {"large weights", {8, 3, 3, 256, 256, 3, 2, 1, 0}, DNN, GEMM, GEMM_WEIGHT}};
    /* AVX-512 also uses GEMM for short sums of at least 512 positions, and for 1x1 of stride 2. */
    static const struct choice wide[] = {
        {"512 positions", {8, 8, 8, 256, 256, 1, 1, 0, 0}, GEMM, GEMM, GEMM_WEIGHT},
        {"511 positions", {1, 7, 73, 256, 256, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
        {"from more", {8, 8, 8, 272, 256, 1, 1, 0, 0}, DNN, GEMM, GEMM_WEIGHT},
        {"to more", {8, 8, 8, 256, 272, 1, 1, 0, 0}, GEMM, DNN, GEMM_WEIGHT},
        {"stride 2", {8, 16, 16, 512, 512, 1, 2, 0, 0}, GEMM, GEMM, GEMM_WEIGHT},
        {"stride 2 of few", {1, 14, 146, 512, 512, 1, 2, 0, 0}, DNN, GEMM, GEMM_WEIGHT}};
    static const struct choice narrow[] = {
        {"stride 2", {4, 112, 112, 256, 256, 1, 2, 0, 0}, DNN, DNN, DNN_WEIGHT}};
    /* AMX uses GEMM for everything from 256 positions on, and for weight gradients from 128
     * channels on. */
    static const struct choice tiles[] = {
        {"256 positions", {4, 8, 8, 2048, 512, 1, 1, 0, 0}, GEMM, GEMM, GEMM_WEIGHT},
        {"255 positions", {1, 15, 17, 2048, 512, 1, 1, 0, 0}, DNN, DNN, GEMM_WEIGHT},
        {"3x3 of stride 2", {8, 32, 32, 64, 128, 3, 2, 1, 0}, GEMM, GEMM, GEMM_WEIGHT},
        {"from few", {8, 32, 32, 112, 128, 1, 1, 0, 0}, GEMM, GEMM, DNN_WEIGHT},
        {"to few", {8, 32, 32, 128, 112, 1, 1, 0, 0}, GEMM, GEMM, DNN_WEIGHT},
        {"inputs beside vectors", {8, 16, 16, 72, 64, 3, 2, 1, 0}, DNN, DNN, DNN_WEIGHT}};
    CHECK_ALL("amx", false, CPU_CONVS_AUTO, DTYPE_F32, tiles);
    CHECK_ALL("amx", false, CPU_CONVS_AUTO, DTYPE_F32, winograds);
    CHECK_ALL("avx512", false, CPU_CONVS_AUTO, DTYPE_F32, others);
    CHECK_ALL("avx512", false, CPU_CONVS_AUTO, DTYPE_F32, wide);
    CHECK_ALL("baseline", false, CPU_CONVS_AUTO, DTYPE_F32, others);
    CHECK_ALL("avx2", false, CPU_CONVS_AUTO, DTYPE_BF16, narrow);
}

/* Choices in bf16 with AVX-512 BF16 (conv/conv_bf16.h). Pictures of 5x7 leave a remainder in every
 * direction. Weight gradients have their own kernel for all windows and strides. */
static const struct choice owns[] = {
    {"3x3", {1, 5, 7, 64, 128, 3, 1, 1, 0}, OWN, OWN, OWN_WEIGHT},
    {"1x1", {1, 5, 7, 64, 128, 1, 1, 0, 0}, OWN, OWN, OWN_WEIGHT},
    {"1x1 of 32", {1, 5, 7, 64, 32, 1, 1, 0, 0}, DNN, OWN, OWN_WEIGHT},
    {"1x1 of 48", {1, 5, 7, 48, 64, 1, 1, 0, 0}, DNN, DNN, OWN_WEIGHT},
    {"3x3 of 96", {1, 5, 7, 64, 96, 3, 1, 1, 0}, DNN, OWN, OWN_WEIGHT},
    {"3x3 of stride 2", {1, 5, 7, 64, 64, 3, 2, 1, 0}, DNN, DNN, OWN_WEIGHT},
    {"1x1 of stride 2", {1, 5, 7, 64, 64, 1, 2, 0, 0}, DNN, DNN, OWN_WEIGHT},
    {"3x3 without padding", {1, 5, 7, 64, 64, 3, 1, 0, 0}, DNN, DNN, OWN_WEIGHT},
    {"3x3, padding of 2", {1, 5, 7, 64, 64, 3, 1, 2, 0}, DNN, DNN, OWN_WEIGHT},
    {"5x5", {1, 5, 7, 64, 64, 5, 1, 2, 0}, DNN, DNN, OWN_WEIGHT},
    {"outputs beside vectors", {1, 5, 7, 64, 72, 1, 1, 0, 0}, DNN, DNN, DNN_WEIGHT},
    {"inputs beside vectors", {1, 5, 7, 72, 64, 1, 1, 0, 0}, DNN, DNN, DNN_WEIGHT},
    {"a padded picture", {1, 5, 7, 64, 64, 1, 1, 0, 32}, DNN, DNN, DNN_WEIGHT},
};

/* In f32 only the weight gradients are own kernels; forward passes follow the rules of f32. A
 * processor with AMX has own_products unset, as oneDNN is faster there. */
static void own_kernels_are_taken_where_they_are_the_faster_ones(void) {
    CHECK_ALL("avx512bf16", true, CPU_CONVS_AUTO, DTYPE_BF16, owns);
    static const struct choice not_owns[] = {
        {"oneDNN's are faster", {1, 5, 7, 64, 64, 3, 1, 1, 0}, DNN, DNN, DNN_WEIGHT}};
    CHECK_ALL("avx512bf16", false, CPU_CONVS_AUTO, DTYPE_BF16, not_owns);
    static const struct choice wide[] = {
        {"f32", {1, 5, 7, 64, 64, 1, 1, 0, 0}, DNN, DNN, OWN_WEIGHT},
        {"f32 3x3", {16, 56, 56, 64, 64, 3, 1, 1, 0}, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT}};
    CHECK_ALL("avx512bf16", true, CPU_CONVS_AUTO, DTYPE_F32, wide);
}

/* A family that is asked for (`--convs`, benchmarks) is taken wherever it has a kernel, even where
 * that loses, and oneDNN's elsewhere. DIRECT is AUTO without Winograd. Each array has layers on
 * which the rules would decide otherwise. */
static void the_users_choice_comes_before_the_rules(void) {
    static const struct conv_layer small = {1, 5, 5, 64, 64, 3, 1, 1, 0};
    static const struct conv_layer large = {16, 56, 56, 64, 64, 3, 1, 1, 0};
    static const struct conv_layer flat = {4, 56, 56, 64, 256, 1, 1, 0, 0};
    const struct choice none[] = {{"large", large, DNN, DNN, DNN_WEIGHT},
                                  {"flat", flat, DNN, DNN, DNN_WEIGHT}};
    const struct choice own[] = {{"large", large, OWN, OWN, OWN_WEIGHT}};
    const struct choice own_f32[] = {{"large", large, DNN, DNN, OWN_WEIGHT}};
    const struct choice gemm[] = {{"small", small, GEMM, GEMM, GEMM_WEIGHT},
                                  {"large", large, GEMM, GEMM, GEMM_WEIGHT}};
    const struct choice winograd[] = {{"small", small, WINOGRAD, WINOGRAD, WINOGRAD_WEIGHT},
                                      {"flat", flat, DNN, DNN, DNN_WEIGHT}};
    const struct choice direct[] = {{"large", large, DNN, DNN, GEMM_WEIGHT},
                                    {"flat", flat, GEMM, GEMM, GEMM_WEIGHT}};
    CHECK_ALL("avx2", false, CPU_CONVS_ONEDNN, DTYPE_F32, none);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_ONEDNN, DTYPE_BF16, none);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_OWN, DTYPE_BF16, own);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_DIRECT, DTYPE_BF16, own);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_OWN, DTYPE_F32, own_f32);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_DIRECT, DTYPE_F32, own_f32);
    CHECK_ALL("avx512", false, CPU_CONVS_GEMM, DTYPE_F32, gemm);
    CHECK_ALL("avx2", false, CPU_CONVS_GEMM, DTYPE_F32, gemm);
    CHECK_ALL("baseline", false, CPU_CONVS_WINOGRAD, DTYPE_F32, winograd);
    CHECK_ALL("avx512bf16", true, CPU_CONVS_WINOGRAD, DTYPE_F32, winograd);
    CHECK_ALL("avx2", false, CPU_CONVS_DIRECT, DTYPE_F32, direct);
}

/* Checks which kernel computes the layer with its epilogue; NULL: the graph keeps it separate. NULL
 * is asked of the operator's own test, by which the graph decides about fusion. */
static void check_affine_of(const char *loops, bool own, enum dtype dtype, bool training,
                            const struct conv_layer *layer, const struct conv_kernel *expected) {
    struct cpu cpu = {.threads = 2, .own_products = own, .loops = loops_called(loops)};
    struct conv_layer_ops ops;
    if (cpu.loops == NULL)
        return;
    conv_layer_open(&ops, layer, dtype);
    ops.graph.training = training;
    CU_ASSERT_EQUAL(cpu_operator(OP_CONV2D_AFFINE)->has(&cpu, &ops.graph, ops.of[LAYER_AFFINE]),
                    expected != NULL);
    if (expected != NULL)
        CU_ASSERT_PTR_EQUAL(conv_kernel_of(&cpu, &ops.graph, ops.of[LAYER_AFFINE]), expected);
    graph_done(&ops.graph);
}

/* The same with and without training. The choice may not depend on training except where the test
 * above says so. */
static void check_affine(const char *loops, bool own, enum dtype dtype,
                         const struct conv_layer *layer, const struct conv_kernel *expected) {
    check_affine_of(loops, own, dtype, true, layer, expected);
    check_affine_of(loops, own, dtype, false, layer, expected);
}

/* OP_CONV2D_AFFINE: bf16 kernels of our own take it in inference alone, since the fused backward
 * pass was not measured with them. In f32 a fused end is computed by the kernel that computes the
 * convolution alone. */
static void an_end_is_fused_but_to_own_kernels_in_training(void) {
    static const struct conv_layer large = {16, 56, 56, 64, 64, 3, 1, 1, 0};
    static const struct conv_layer strided = {16, 56, 56, 64, 64, 3, 2, 1, 0};
    static const struct conv_layer flat = {4, 56, 56, 64, 256, 1, 1, 0, 0};
    static const struct conv_layer deep = {4, 56, 56, 512, 256, 1, 1, 0, 0};
    check_affine_of("avx512bf16", true, DTYPE_BF16, true, &large, NULL);
    check_affine_of("avx512bf16", true, DTYPE_BF16, true, &flat, NULL);
    check_affine_of("avx512bf16", true, DTYPE_BF16, false, &large, OWN);
    check_affine_of("avx512bf16", true, DTYPE_BF16, false, &flat, OWN);
    check_affine("avx512bf16", true, DTYPE_BF16, &strided, &conv_dnn_affine_kernel);
    check_affine("avx512bf16", false, DTYPE_BF16, &large, &conv_dnn_affine_kernel);
    check_affine("avx512bf16", true, DTYPE_F32, &large, WINOGRAD);
    check_affine("avx2", false, DTYPE_F32, &large, WINOGRAD);
    check_affine("avx2", false, DTYPE_F32, &flat, GEMM);
    check_affine("avx512", false, DTYPE_F32, &flat, GEMM);
    check_affine("avx512", false, DTYPE_F32, &deep, &conv_dnn_affine_kernel);
    check_affine("baseline", false, DTYPE_F32, &flat, &conv_dnn_affine_kernel);
}

UNIT_SUITE("cpu.conv_operators", UNIT(winograds_products_are_taken_where_they_pay),
           UNIT(products_of_matrices_are_taken_where_they_pay),
           UNIT(own_kernels_are_taken_where_they_are_the_faster_ones),
           UNIT(the_users_choice_comes_before_the_rules),
           UNIT(an_end_is_fused_but_to_own_kernels_in_training))
