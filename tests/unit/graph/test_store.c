#include "graph/store.h"
#include "support/net.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

static void places_are_aligned_and_in_the_order_of_backward(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true),
             (struct compile_options){.fusion = FUSION_ALL});
    const struct store *store = &net.store;
    size_t end = 0;
    for (int i = 0; i < store->slot_count && store->slots[i].home == STORE_PARAMETERS; i++) {
        CU_ASSERT(store->slots[i].first >= end);
        CU_ASSERT_EQUAL(store->slots[i].first * sizeof(float) % STORE_ALIGNMENT, 0);
        end = store->slots[i].first + store->slots[i].count;
    }
    CU_ASSERT_STRING_EQUAL(store->slots[0].name, "fc.weight");
    CU_ASSERT(store_find(store, "layer3.2.conv2.weight")->first <
              store_find(store, "layer3.2.conv1.weight")->first);
    CU_ASSERT(store_find(store, "layer1.0.conv1.weight")->first <
              store_find(store, "conv1.weight")->first);
    CU_ASSERT_EQUAL(store->count[STORE_MOMENTUM], store->count[STORE_PARAMETERS]);
    net_done(&net);
}

static void states_have_no_gradient_and_parameters_no_state(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    const struct store_slot *mean = store_find(&net.store, "bn1.running_mean");
    const struct store_slot *weight = store_find(&net.store, "bn1.weight");
    CU_ASSERT_PTR_NULL(store_at(&net.store, mean, STORE_GRADIENTS));
    CU_ASSERT_PTR_NOT_NULL(store_at(&net.store, mean, STORE_STATE));
    CU_ASSERT_PTR_NULL(store_at(&net.store, weight, STORE_STATE));
    CU_ASSERT_PTR_NOT_NULL(store_at(&net.store, weight, STORE_MOMENTUM));
    CU_ASSERT_PTR_NULL(store_find(&net.store, "bn2.weight"));
    net_done(&net);
}

/* A parameter that nothing reads. */
static void what_has_no_gradient_lies_behind_what_is_trained(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    CU_ASSERT_EQUAL(net.store.trained, net.store.count[STORE_PARAMETERS]);
    CU_ASSERT(store_find(&net.store, "bn1.weight")->trained);
    CU_ASSERT_FALSE(store_find(&net.store, "bn1.running_mean")->trained);
    struct store store = {0};
    struct error err = {0};
    (void)graph_parameter(&net.graph, "idle", shape_1(5), INIT_ONE, 0);
    CU_ASSERT_EQUAL_FATAL(store_init(&store, net.backend, &net.graph, &err), 0);
    const struct store_slot *idle = store_find(&store, "idle");
    CU_ASSERT_FALSE(idle->trained);
    CU_ASSERT_EQUAL(store.trained, net.store.trained);
    CU_ASSERT_EQUAL(idle->first, store.trained);
    CU_ASSERT_EQUAL(store.count[STORE_PARAMETERS], store.trained + 16);
    store_done(&store);
    net_done(&net);
}

static void evaluation_alone_needs_no_gradients(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 1, 8, false), (struct compile_options){0});
    CU_ASSERT_PTR_NULL(net.store.arena[STORE_GRADIENTS]);
    CU_ASSERT_PTR_NULL(net.store.arena[STORE_MOMENTUM]);
    CU_ASSERT_PTR_NOT_NULL(net.store.arena[STORE_PARAMETERS]);
    net_done(&net);
}

static double deviation(const float *values, size_t count) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    return sqrt(squares / (double)count - sum / (double)count * (sum / (double)count));
}

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

static void zero_gamma_zeroes_the_last_norm_of_each_block_alone(void) {
    struct net net;
    struct resnet_config config = net_config("resnet20", 1, 8, true);
    config.zero_gamma = true;
    net_init(&net, NULL, config, (struct compile_options){0});
    net_start(&net);
    static const struct {
        const char *name;
        float value;
    } rows[] = {{"layer1.0.bn1.weight", 1},          {"layer1.0.bn2.weight", 0},
                {"layer2.0.downsample.1.weight", 1}, {"layer3.2.bn1.weight", 1},
                {"layer3.2.bn2.weight", 0},          {"bn1.weight", 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct store_slot *slot = store_find(&net.store, rows[i].name);
        const float *gamma = store_at(&net.store, slot, STORE_PARAMETERS);
        CU_ASSERT_EQUAL(gamma[0], rows[i].value);
        CU_ASSERT_EQUAL(gamma[slot->count - 1], rows[i].value);
    }
    net_done(&net);
}

static void what_is_written_can_be_read(void) {
    struct net net;
    struct error err = {0};
    float in[16], out[16];
    net_init(&net, NULL, net_config("resnet20", 1, 8, true), (struct compile_options){0});
    const struct store_slot *slot = store_find(&net.store, "bn1.bias");
    for (int i = 0; i < 16; i++)
        in[i] = (float)i;
    CU_ASSERT_EQUAL_FATAL(slot->count, 16);
    CU_ASSERT_EQUAL(store_write(&net.store, slot, STORE_MOMENTUM, in, &err), 0);
    CU_ASSERT_EQUAL(store_read(&net.store, slot, STORE_MOMENTUM, out, &err), 0);
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
    CU_ASSERT_EQUAL(store_read(&net.store, slot, STORE_STATE, out, &err), -1);
    ASSERT_CONTAINS(err.text, "bn1.bias");
    net_done(&net);
}

UNIT_MAIN("graph.store", UNIT(places_are_aligned_and_in_the_order_of_backward),
          UNIT(states_have_no_gradient_and_parameters_no_state),
          UNIT(evaluation_alone_needs_no_gradients),
          UNIT(what_has_no_gradient_lies_behind_what_is_trained),
          UNIT(start_values_have_the_published_spread),
          UNIT(start_values_depend_on_seed_and_name_alone),
          UNIT(zero_gamma_zeroes_the_last_norm_of_each_block_alone),
          UNIT(what_is_written_can_be_read))
