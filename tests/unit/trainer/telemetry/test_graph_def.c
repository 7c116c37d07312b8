#include "tests/support/unit.h"
#include "trainer/telemetry/graph_def.h"

#include <string.h>

static void names_become_paths(void) {
    char name[GRAPH_DEF_NAME_SIZE];
    graph_def_name(name, "layer1.0.conv1.weight");
    CU_ASSERT_STRING_EQUAL(name, "layer1/0/conv1/weight");
    graph_def_name(name, ".a b:c-d_e");
    CU_ASSERT_STRING_EQUAL(name, "_a_b_c-d_e");
    char longest[300];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    graph_def_name(name, longest);
    CU_ASSERT_EQUAL(strlen(name), GRAPH_DEF_NAME_SIZE - 1);
}

static void a_node_is_written_byte_for_byte(void) {
    static const unsigned char expected[] = {
        0x0a, 46,                                    /* node */
        0x0a, 1,   'y',  0x12, 3,    'a', 'd',  'd', /* name, operator */
        0x1a, 1,   'a',  0x1a, 1,    'b',            /* inputs */
        0x2a, 30,                                    /* attribute */
        0x0a, 14,  '_',  'o',  'u',  't', 'p',  'u', 't',  '_', 's',  'h',
        'a',  'p', 'e',  's',  0x12, 12,                                  /* its value */
        0x0a, 10,  0x3a, 8,    0x12, 2,   0x08, 8,   0x12, 2,   0x08, 16, /* 8 x 16 */
    };
    cleanup_buf struct buf graph = {.max = 4096};
    const struct graph_def_node node = {.name = "y",
                                        .op = "add",
                                        .inputs = {"a", "b"},
                                        .input_count = 2,
                                        .dim = {8, 16},
                                        .rank = 2};
    CU_ASSERT_EQUAL(graph_def_add(&graph, &node, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(graph.size, sizeof(expected));
    CU_ASSERT_EQUAL(memcmp(graph.data, expected, sizeof(expected)), 0);
}

UNIT_SUITE("telemetry.graph_def", UNIT(names_become_paths), UNIT(a_node_is_written_byte_for_byte))
