#include "graph/sizes.h"
#include "support/net.h"
#include "support/unit.h"

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

UNIT_MAIN("graph.sizes", UNIT(sizes_are_those_of_the_arenas), UNIT(the_text_says_mib))
