#include "tests/support/host_device.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/sizes.h"

#include <stdlib.h>
#include <string.h>

static void sizes_are_those_of_the_arenas(void) {
    struct net net;
    net_init(&net, NULL, net_config("resnet20", 2, 16, true),
             (struct compile_options){.fusion = FUSION_ALL});
    struct sizes s = sizes_of(&net.program);
    size_t width = dtype_size(net.store.dtype);
    CU_ASSERT_EQUAL(s.weights, net.store.count[STORE_PARAMETERS] * width);
    CU_ASSERT_EQUAL(s.gradients, s.weights + STORE_FLAGS * width);
    CU_ASSERT_EQUAL(s.optimizer, s.weights);
    CU_ASSERT(s.activations == net.program.plan.arena_bytes && s.activations > 0);
    CU_ASSERT(s.workspace <= s.activations);
    CU_ASSERT(s.inputs == net.program.kept_bytes && s.inputs > 0);
    CU_ASSERT_EQUAL(sizes_sum(&s), s.weights + s.gradients + s.optimizer + s.statistics +
                                       s.activations + s.inputs + s.packed);
    net_done(&net);
}

static int describe_frozen(struct graph *graph, struct error *err) {
    graph_init(graph, DTYPE_BF16, true);
    int x = graph_input(graph, "x", DTYPE_BF16, shape_4(2, 4, 4, 16));
    graph_freeze(graph, true);
    x = graph_conv2d(graph, "frozen", x, 16, 16, (struct op_window){.kernel = 1, .stride = 1});
    graph_freeze(graph, false);
    x = graph_conv2d(graph, "conv", x, 16, 32, (struct op_window){.kernel = 1, .stride = 1});
    x = graph_batch_norm(graph, "bn", x, (struct norm_options){1e-5, 0.1, INIT_ONE});
    int label = graph_input(graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(graph, "weight", DTYPE_F32, shape_1(2));
    int logits = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), 16);
    (void)graph_softmax_cross_entropy(graph, logits, label, weight, 0);
    return graph_finish(graph, err);
}

/* What lies beside the arenas in the type of activations counts, too, and what is packed. */
static void a_device_has_more_of_weights_and_gradients(void) {
    struct host_device d;
    struct net net = {.backend = &d.base};
    struct error err = {0};
    struct compile_options options = {0};
    host_device_open(&d);
    CU_ASSERT_EQUAL_FATAL(describe_frozen(&net.graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&net.program, &net.graph, &net.store, &d.base, &options, &err), 0);
    struct sizes s = sizes_of(&net.program);
    const size_t conv = 32 * 16, frozen = 16 * 16, trained = conv + 2 * 32 + 16 * 32 + 16;
    CU_ASSERT_EQUAL(s.weights, 4 * (trained + frozen) + 2 * trained);
    CU_ASSERT_EQUAL(s.gradients, (4 + 2) * (trained + STORE_FLAGS) + (trained + STORE_FLAGS) / 16);
    CU_ASSERT_EQUAL(s.optimizer, 4 * trained);
    CU_ASSERT_EQUAL(s.statistics, 4 * 2 * 32);
    CU_ASSERT_EQUAL(s.packed, 4 * (conv + frozen)); /* nothing flows into the frozen one */
    size_t most = 0;
    for (int i = 0; i < net.graph.op_count; i++)
        if (net.program.needs[i].scratch > most)
            most = net.program.needs[i].scratch;
    CU_ASSERT(most > 0 && s.workspace == most);
    net_done(&net);
}

static void the_text_says_mib(void) {
    struct sizes s = {.weights = 3 << 20, .gradients = 1 << 19, .workspace = 1 << 30};
    char text[SIZES_TEXT_SIZE];
    sizes_text(&s, text, sizeof(text));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "weights 3.0, gradients 0.5, optimizer 0.0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "workspace 1024.0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "3.5 MiB in all"));
    /* The longest numbers there are fit. */
    memset(&s, 0xff, sizeof(s));
    sizes_text(&s, text, sizeof(text));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "MiB in all"));
}

UNIT_SUITE("graph.sizes", UNIT(sizes_are_those_of_the_arenas),
           UNIT(a_device_has_more_of_weights_and_gradients), UNIT(the_text_says_mib))
