#include "common/str.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/store.h"
#include "trainer/math/random.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Start values: their spread is compared with torch's formulas, and the values with the stream of
 * random numbers that they are documented to come from. Loops over whole tensors count what is
 * wrong, so that one assertion is made for all elements. */

/* Standard deviation of COUNT values. */
static double deviation(const float *values, size_t count) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    return sqrt(squares / (double)count - sum / (double)count * (sum / (double)count));
}

/* He's for convolutions, by the outputs; uniform within the inverse root of the inputs for the last
 * layer and its bias, which must not be zero. A variance starts at 1. */
static void start_values_have_the_published_spread(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet18", 1, 32, true), (struct compile_options){0});
    net_start(&net);
    const struct store_slot *conv = store_find(&net.store, "layer3.1.conv2.weight");
    const struct store_slot *fc = store_find(&net.store, "fc.weight");
    const struct store_slot *bias = store_find(&net.store, "fc.bias");
    const struct store_slot *var = store_find(&net.store, "bn1.running_var");
    const float *w = store_at(&net.store, conv, STORE_PARAMETERS);
    CU_ASSERT_DOUBLE_EQUAL(deviation(w, conv->count), sqrt(2.0 / (256 * 9)), 0.0002);
    w = store_at(&net.store, fc, STORE_PARAMETERS);
    double bound = 1 / sqrt(512.0);
    CU_ASSERT_DOUBLE_EQUAL(deviation(w, fc->count), bound / sqrt(3.0), 0.01 * bound);
    for (size_t i = 0; i < fc->count; i++)
        CU_ASSERT(fabs((double)w[i]) <= bound);
    w = store_at(&net.store, bias, STORE_PARAMETERS);
    for (size_t i = 0; i < bias->count; i++)
        CU_ASSERT(w[i] != 0 && fabs((double)w[i]) <= bound);
    CU_ASSERT_EQUAL(((const float *)store_at(&net.store, var, STORE_STATE))[5], 1);
    net_done(&net);
}

/* Two networks with a layer of the same name, in other batches and with other fusion: the same
 * values. Another seed gives others. */
static void start_values_depend_on_seed_and_name_alone(void) {
    struct net a, b;
    struct error err = {0};
    net_init(&a, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_NONE});
    net_init(&b, NULL, net_config("resnet32", 3, 16, false),
             (struct compile_options){.fusion = FUSION_ALL});
    net_start(&a);
    net_start(&b);
    const char *name = "layer2.1.conv1.weight";
    const struct store_slot *left = store_find(&a.store, name), *right = store_find(&b.store, name);
    const void *x = store_at(&a.store, left, STORE_PARAMETERS);
    const void *y = store_at(&b.store, right, STORE_PARAMETERS);
    CU_ASSERT_EQUAL(memcmp(x, y, left->count * sizeof(float)), 0);
    CU_ASSERT_EQUAL(store_start(&b.store, 2, &err), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(x, y, left->count * sizeof(float)), 0);
    net_done(&a);
    net_done(&b);
}

/* One parameter for each initialization, on the reference backend. A bound must nearly be reached
 * by the largest value, a deviation be met within five percent. */
static void a_start_has_its_bound_or_deviation(void) {
    static const struct {
        const char *name;
        enum tensor_init init;
        struct shape shape;
        int64_t fan;
        double bound, deviation; /* 0: not checked */
    } rows[] = {
        {"a", INIT_NORMAL_HUNDREDTH, {2, {100, 60}}, 0, 0, 0.01},
        {"b", INIT_UNIFORM_FAN_IN, {4, {32, 3, 5, 8}}, 0, 0.09128709, 0},
        {"c", INIT_UNIFORM_FAN_IN_3, {4, {32, 3, 5, 8}}, 0, 0.15811388, 0},
        {"d", INIT_UNIFORM_FAN_IN_3, {2, {200, 12}}, 0, 0.5, 0},
        {"e", INIT_UNIFORM_BIAS, {1, {2000}}, 16, 0.25, 0},
        {"f", INIT_NORMAL_FAN_OUT, {4, {32, 3, 4, 50}}, 0, 0, 0.07216878},
    };
    struct graph graph;
    struct store store = {0};
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    graph_init(&graph, DTYPE_F32, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        (void)graph_parameter(&graph, rows[i].name, rows[i].shape, rows[i].init, rows[i].fan);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&store, ref, &graph, &err), 0);
    CU_ASSERT_EQUAL(store_start(&store, 1, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct store_slot *slot = store_find(&store, rows[i].name);
        const float *w = store_at(&store, slot, STORE_PARAMETERS);
        double most = 0;
        for (size_t k = 0; k < slot->count; k++)
            most = fmax(most, fabs((double)w[k]));
        if (rows[i].bound > 0)
            CU_ASSERT(most <= rows[i].bound * (1 + 1e-6) && most > 0.99 * rows[i].bound);
        if (rows[i].deviation > 0)
            CU_ASSERT_DOUBLE_EQUAL(deviation(w, slot->count), rows[i].deviation,
                                   0.05 * rows[i].deviation);
    }
    store_done(&store);
    graph_done(&graph);
    backend_close(ref);
}

/* Sizes that are no multiple of what a thread fills at once. Values are read from one stream in
 * order, a normal number or a uniform one at a time, as a single thread would. */
static void start_values_are_those_of_one_stream_on_any_number_of_threads(void) {
    static const int threads[] = {1, 2, 5};
    static const struct shape long_shape = {2, {177, 331}}, wide_shape = {2, {331, 177}};
    struct error err = {0};
    for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
        struct graph graph;
        struct store store = {0};
        struct backend *ref = NULL;
        CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
        graph_init(&graph, DTYPE_F32, false);
        (void)graph_parameter(&graph, "normal", long_shape, INIT_NORMAL_HUNDREDTH, 0);
        (void)graph_parameter(&graph, "uniform", wide_shape, INIT_UNIFORM_BIAS, 4);
        CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
        CU_ASSERT_EQUAL_FATAL(store_init(&store, ref, &graph, &err), 0);
        omp_set_num_threads(threads[t]);
        CU_ASSERT_EQUAL(store_start(&store, 11, &err), 0);
        const float *normal = store_at(&store, store_find(&store, "normal"), STORE_PARAMETERS);
        const float *uniform = store_at(&store, store_find(&store, "uniform"), STORE_PARAMETERS);
        struct random a = random_stream(11, 0, str_hash(STR_HASH_START, "normal", 6));
        struct random b = random_stream(11, 0, str_hash(STR_HASH_START, "uniform", 7));
        int wrong = 0;
        for (int i = 0; i < 177 * 331; i++) {
            wrong += normal[i] != (float)(0.01 * random_normal(&a));
            wrong += uniform[i] != (float)random_between(&b, -0.5, 0.5);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        store_done(&store);
        graph_done(&graph);
        backend_close(ref);
    }
}

/* Start values in double equal those in f32, so that both can be compared; doubles are rounded to
 * f32 before they are stored. */
static void start_values_are_the_same_in_double(void) {
    struct net narrow, wide;
    struct resnet_config config = net_config("resnet20", 1, 8, true);
    net_init(&narrow, NULL, config, (struct compile_options){0});
    config.dtype = DTYPE_F64;
    net_init(&wide, NULL, config, (struct compile_options){0});
    net_start(&narrow);
    net_start(&wide);
    const struct store_slot *a = store_find(&narrow.store, "conv1.weight");
    const struct store_slot *b = store_find(&wide.store, "conv1.weight");
    const float *x = store_at(&narrow.store, a, STORE_PARAMETERS);
    const double *y = store_at(&wide.store, b, STORE_PARAMETERS);
    for (size_t i = 0; i < a->count; i++)
        CU_ASSERT_EQUAL((double)x[i], y[i]);
    net_done(&narrow);
    net_done(&wide);
}

UNIT_SUITE("graph.store_start", UNIT(start_values_have_the_published_spread),
           UNIT(start_values_depend_on_seed_and_name_alone),
           UNIT(a_start_has_its_bound_or_deviation),
           UNIT(start_values_are_those_of_one_stream_on_any_number_of_threads),
           UNIT(start_values_are_the_same_in_double))
