/* How the work of weight gradients is cut; test_loop_weight.c tests the loops. If positions are cut
 * into parts, each part except the first needs a sum of its own. */
#include "tests/support/conv_layer.h"
#include "trainer/backend/cpu/conv/conv_kernel.h"

/* Returns the number of parts of the positions, from the scratch requested beyond PER_THREAD bytes
 * for each thread. */
static size_t parts_of(const struct cpu *cpu, const struct conv_kernel *kernel, enum dtype dtype,
                       const struct conv_layer *l, size_t per_thread) {
    struct conv_layer_ops ops;
    struct backend_needs needs = {0};
    struct error err = {0};
    conv_layer_open(&ops, l, dtype);
    const struct op *op = ops.of[LAYER_WEIGHT];
    CU_ASSERT(kernel->has(cpu, &ops.graph, op));
    CU_ASSERT_EQUAL(kernel->query(cpu, &ops.graph, op, &needs, &err), 0);
    graph_done(&ops.graph);
    size_t sums = backend_aligned((size_t)(l->out * l->kernel * l->kernel * l->in) * sizeof(float));
    size_t rest = needs.scratch - (size_t)cpu->threads * backend_aligned(per_thread);
    CU_ASSERT_EQUAL(needs.packed, 0);
    CU_ASSERT_EQUAL(rest % sums, 0);
    return rest / sums + 1;
}

/* They are cut by shape alone, so results do not depend on the number of threads. */
static void products_of_matrices_are_cut_by_1024_pixels_where_results_are_few(void) {
    static const struct {
        struct conv_layer layer;
        size_t parts, wide; /* for groups of 256 results, and of 512 */
    } cases[] = {
        {{1, 100, 100, 64, 64, 1, 1, 0, 0}, 10, 10}, {{1, 32, 32, 64, 64, 1, 1, 0, 0}, 1, 1},
        {{1, 25, 41, 64, 64, 1, 1, 0, 0}, 2, 2},     {{1, 64, 64, 512, 256, 3, 1, 1, 0}, 2, 4},
        {{1, 64, 64, 512, 512, 3, 1, 1, 0}, 1, 4},   {{1, 64, 64, 1024, 1024, 3, 1, 1, 0}, 1, 1},
        {{16, 64, 64, 512, 512, 1, 1, 0, 0}, 8, 32}, {{64, 64, 64, 16, 16, 1, 1, 0, 0}, 32, 32},
        {{64, 64, 64, 16, 272, 1, 1, 0, 0}, 16, 32}, {{64, 64, 64, 16, 528, 1, 1, 0, 0}, 11, 16},
        {{1, 100, 100, 64, 64, 3, 2, 1, 0}, 3, 3},
    };
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (int threads = 1; threads <= 7; threads += 3)
            for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const struct cpu cpu = {.threads = threads, .loops = *loops};
                const struct conv_layer *l = &cases[i].layer;
                bool few = l->out < 128 || l->kernel * l->kernel * l->in < 128;
                size_t bytes = (few ? loops_plain(*loops) : *loops)->gemm_weight.scratch(NULL);
                bool wide = (*loops)->gemm_weight_group() == 512;
                CU_ASSERT_EQUAL(
                    parts_of(&cpu, &conv_gemm_weight_kernel, DTYPE_F32, &cases[i].layer, bytes),
                    wide ? cases[i].wide : cases[i].parts);
            }
}

static size_t own_parts(int threads, enum dtype dtype, const struct conv_layer *l) {
    const struct cpu cpu = {
        .threads = threads, .own_products = true, .loops = loops_called("avx512bf16")};
    const struct weight_part part = {.elem = cpu_elem(dtype),
                                     .in = (size_t)l->in,
                                     .out = (size_t)l->out,
                                     .kernel = (size_t)l->kernel,
                                     .stride = (size_t)l->stride,
                                     .pad = (size_t)l->pad};
    const struct weight_kernel *kernel = weight_kernel_supports(&cpu.loops->winograd_weight, &part)
                                             ? &cpu.loops->winograd_weight
                                             : &cpu.loops->weight;
    return parts_of(&cpu, &conv_weight_kernel, dtype, l, kernel->scratch(&part));
}

/* If results are few, positions are cut into as many parts as suit 16 threads, so sums do not
 * depend on the actual number of threads. */
static void positions_are_cut_by_shape_alone(void) {
    static const struct conv_layer few_results = {8, 56, 56, 16, 16, 1, 1, 0, 0};
    static const struct conv_layer many_results = {1, 7, 7, 512, 512, 3, 1, 1, 0};
    static const struct conv_layer one_pixel = {1, 1, 1, 16, 16, 1, 1, 0, 0};
    static const struct conv_layer two_groups = {1, 14, 14, 128, 64, 1, 1, 0, 0};
    if (loops_called("avx512bf16") == NULL) {
        unit_skip("this processor has no bf16 products of its own");
        return;
    }
    for (int dtype = 0; dtype < 2; dtype++) {
        enum dtype type = dtype == 0 ? DTYPE_F32 : DTYPE_BF16;
        for (int threads = 1; threads <= 6; threads++) {
            CU_ASSERT_EQUAL(own_parts(threads, type, &few_results), 16);
            CU_ASSERT_EQUAL(own_parts(threads, type, &many_results), 1);
            CU_ASSERT_EQUAL(own_parts(threads, type, &one_pixel), 1);
            CU_ASSERT_EQUAL(own_parts(threads, type, &two_groups), 8);
        }
    }
}

UNIT_SUITE("cpu.conv_weight",
           UNIT(products_of_matrices_are_cut_by_1024_pixels_where_results_are_few),
           UNIT(positions_are_cut_by_shape_alone))
