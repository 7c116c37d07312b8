#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/program.h"

#include <math.h>
#include <string.h>

/* Layers are built into small networks in double, computed by the reference backend, and their
 * gradients compared with finite differences: what is compared is the whole way, from the builder
 * to the store. */

/* A graph in double on the reference, with its loss at the end. Zeroed, it can be ended. */
struct fixture {
    struct backend *backend;
    struct graph graph;
    struct store store;
    struct program program;
};

/* Windows and a norm that all cases use. */
static const struct op_window one = {.kernel = 1, .stride = 1};
static const struct op_window three = {.kernel = 3, .stride = 1, .pad = 1};
static const struct norm_options norm = {1e-5, 0.1, INIT_ONE};

/* Begins the graph; returns its input x [2, 4, 4, 3]. */
static int begin(struct fixture *f) {
    *f = (struct fixture){0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&f->backend, NULL), 0);
    graph_init(&f->graph, DTYPE_F64, true);
    return graph_input(&f->graph, "x", DTYPE_F64, shape_4(2, 4, 4, 3));
}

/* Ends the graph with the loss of a linear layer on X [2, C]; compiles, and fills x with numbers.
 * The pixels are a sine, so that no two are alike, and the weights start from a fixed seed. */
static void finish(struct fixture *f, int x) {
    struct error err = {0};
    int label = graph_input(&f->graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(&f->graph, "weight", DTYPE_F32, shape_1(2));
    int logits = graph_linear(&f->graph, "fc", x, 5);
    int loss = graph_softmax_cross_entropy(&f->graph, logits, label, weight, 0);
    (void)graph_keep(&f->graph, loss, "metrics");
    struct compile_options options = {.fusion = FUSION_ALL};
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&f->program, &f->graph, &f->store, f->backend, &options, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_start(&f->store, 3, &err), 0);
    double pixels[2 * 4 * 4 * 3];
    for (int i = 0; i < 96; i++)
        pixels[i] = sin(i * 1.7);
    const int32_t labels[] = {1, 4};
    const float weights[] = {1, 1};
    CU_ASSERT_EQUAL(program_write(&f->program, "x", pixels, sizeof(pixels), &err), 0);
    CU_ASSERT_EQUAL(program_write(&f->program, "label", labels, sizeof(labels), &err), 0);
    CU_ASSERT_EQUAL(program_write(&f->program, "weight", weights, sizeof(weights), &err), 0);
}

static void end(struct fixture *f) {
    program_done(&f->program);
    store_done(&f->store);
    graph_done(&f->graph);
    backend_close(f->backend);
}

/* Runs a step, and returns its loss, the mean of two samples. */
static double loss(struct fixture *f) {
    double metrics[LOSS_METRICS];
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(program_run(&f->program, NULL, &err), 0);
    CU_ASSERT_EQUAL(program_read(&f->program, "metrics", metrics, sizeof(metrics), &err), 0);
    return metrics[LOSS_SUM] / 2;
}

/* Compares element AT of the gradient of NAME with the difference quotient of the loss. It must be
 * clearly other than zero: a gradient that is missing would be zero as well. */
static void check_gradient(struct fixture *f, const char *name, size_t at) {
    const struct store_slot *slot = store_find(&f->store, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
    double *value = (double *)store_at(&f->store, slot, STORE_PARAMETERS) + at, before = *value;
    (void)loss(f);
    double computed = ((double *)store_at(&f->store, slot, STORE_GRADIENTS))[at];
    *value = before + 1e-6;
    double above = loss(f);
    *value = before - 1e-6;
    double expected = (above - loss(f)) / 2e-6;
    *value = before;
    CU_ASSERT(fabs(expected) > 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(computed, expected, 1e-6 * fmax(fabs(expected), 1e-2));
}

/* Operators of KIND after the compilation. */
static int count_kind(const struct graph *graph, enum op_kind kind) {
    int count = 0;
    for (int i = 0; i < graph->op_count; i++)
        count += graph->ops[i].kind == kind;
    return count;
}

/* A convolution, a norm and a linear layer, each applied to two levels. The store has each weight
 * once: one of the convolution, four of the norm, two of each linear layer. */
static void shared_weights_have_the_gradient_of_all_who_use_them(void) {
    struct fixture f;
    int x = begin(&f);
    struct graph_weights conv = graph_conv2d_weights(&f.graph, "conv", 3, 3, 3);
    struct graph_weights scale = graph_norm_weights(&f.graph, "bn", 3, INIT_ONE);
    struct graph_weights linear = graph_linear_weights(&f.graph, "hidden", 3, 3);
    int levels[2];
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            x = graph_max_pool(&f.graph, x, (struct op_window){.kernel = 2, .stride = 2});
        int y = graph_conv2d_with(&f.graph, "conv", x, &conv, three);
        y = graph_relu(&f.graph, graph_batch_norm_with(&f.graph, "bn", y, &scale, norm));
        levels[i] =
            graph_linear_with(&f.graph, "hidden", graph_global_avg_pool(&f.graph, y), &linear);
    }
    finish(&f, graph_add(&f.graph, levels[0], levels[1]));
    CU_ASSERT_EQUAL(f.store.slot_count, 1 + 4 + 2 + 2);
    check_gradient(&f, "conv.weight", 40);
    check_gradient(&f, "bn.weight", 1);
    check_gradient(&f, "bn.bias", 2);
    check_gradient(&f, "hidden.weight", 5);
    check_gradient(&f, "hidden.bias", 0);
    end(&f);
}

/* The stem's weights are in the arena of constants alone, and no operator computes a gradient for
 * them or through them. Running statistics outside the frozen part are states. A step changes none
 * of the constants. */
static void what_is_frozen_is_constant_and_costs_no_gradient(void) {
    static const char *const frozen[] = {"stem.weight", "bn.weight", "bn.bias", "bn.running_mean",
                                         "bn.running_var"};
    struct fixture f;
    double before[81], after[81];
    struct error err = {0};
    int x = begin(&f);
    graph_freeze(&f.graph, true);
    x = graph_conv2d(&f.graph, "stem", x, 3, 3, three);
    x = graph_relu(&f.graph, graph_batch_norm(&f.graph, "bn", x, norm));
    graph_freeze(&f.graph, false);
    x = graph_conv2d(&f.graph, "conv", x, 3, 4, one);
    finish(&f, graph_global_avg_pool(&f.graph, graph_batch_norm(&f.graph, "bn2", x, norm)));
    for (size_t i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
        const struct store_slot *slot = store_find(&f.store, frozen[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
        CU_ASSERT_EQUAL(slot->home, STORE_CONSTANTS);
        CU_ASSERT_FALSE(slot->trained);
        CU_ASSERT_PTR_NOT_NULL(store_at(&f.store, slot, STORE_CONSTANTS));
        for (int arena = 0; arena < STORE_CONSTANTS; arena++)
            CU_ASSERT_PTR_NULL(store_at(&f.store, slot, (enum store_arena)arena));
    }
    CU_ASSERT_EQUAL(store_find(&f.store, "bn2.running_mean")->home, STORE_STATE);
    CU_ASSERT_EQUAL(f.store.count[STORE_PARAMETERS], f.store.trained);
    CU_ASSERT_EQUAL(count_kind(&f.graph, OP_CONV2D_GRAD_WEIGHT), 1);
    CU_ASSERT_EQUAL(count_kind(&f.graph, OP_CONV2D_GRAD_DATA), 0);
    CU_ASSERT_EQUAL(count_kind(&f.graph, OP_BATCH_NORM), 1);
    const struct store_slot *stem = store_find(&f.store, "stem.weight");
    CU_ASSERT_EQUAL(store_read(&f.store, stem, STORE_CONSTANTS, before, &err), 0);
    check_gradient(&f, "conv.weight", 7);
    CU_ASSERT_EQUAL(store_read(&f.store, stem, STORE_CONSTANTS, after, &err), 0);
    CU_ASSERT(before[0] != 0 && memcmp(before, after, sizeof(before)) == 0);
    end(&f);
}

/* A program that takes them for parameters finds the same values: an evaluation need not know what
 * a training has frozen. */
static void constants_are_found_by_another_program_of_the_store(void) {
    struct fixture f;
    int x = begin(&f);
    graph_freeze(&f.graph, true);
    x = graph_conv2d(&f.graph, "stem", x, 3, 4, one);
    graph_freeze(&f.graph, false);
    finish(&f, graph_global_avg_pool(&f.graph, x));
    double trained = loss(&f);

    struct fixture other = {.backend = f.backend};
    graph_init(&other.graph, DTYPE_F64, false);
    x = graph_input(&other.graph, "x", DTYPE_F64, shape_4(2, 4, 4, 3));
    x = graph_conv2d(&other.graph, "stem", x, 3, 4, one);
    other.store = f.store;
    finish(&other, graph_global_avg_pool(&other.graph, x));
    CU_ASSERT_EQUAL(loss(&other), trained);
    program_done(&other.program);
    graph_done(&other.graph);
    end(&f);
}

UNIT_SUITE("graph.build_layers", UNIT(shared_weights_have_the_gradient_of_all_who_use_them),
           UNIT(what_is_frozen_is_constant_and_costs_no_gradient),
           UNIT(constants_are_found_by_another_program_of_the_store))
