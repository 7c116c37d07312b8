#include "trainer/telemetry/graph_def.h"

#include "common/binary/protobuf.h"
#include "trainer/telemetry/tfevents_format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Field numbers. */
enum {
    GRAPH_NODE = 1,
    NODE_NAME = 1,
    NODE_OP = 2,
    NODE_INPUT = 3,
    NODE_ATTRIBUTE = 5, /* an entry of map<string, AttrValue> */
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
    VALUE_LIST = 1,
    LIST_SHAPE = 7,
};

enum { SMALL = 256, NODE_MAX = 16384 };

void graph_def_name(char ret[GRAPH_DEF_NAME_SIZE], const char *name) {
    (void)snprintf(ret, GRAPH_DEF_NAME_SIZE, "%s", name);
    for (char *c = ret; *c != '\0'; c++)
        *c = (char)(*c == '.' && c > ret                              ? '/'
                    : isalnum((unsigned char)*c) || strchr("_/-", *c) ? *c
                                                                      : '_');
}

/* The attribute with which TensorBoard labels the node's edges. */
static int add_shape(struct buf *out, const struct graph_def_node *node, struct error *err) {
    cleanup_buf struct buf shape = {.max = SMALL};
    cleanup_buf struct buf list = {.max = SMALL};
    cleanup_buf struct buf value = {.max = SMALL};
    cleanup_buf struct buf entry = {.max = 2 * SMALL};
    for (int i = 0; i < node->rank; i++) {
        cleanup_buf struct buf dim = {.max = SMALL};
        if (protobuf_add_varint(&dim, DIM_SIZE, (uint64_t)node->dim[i], err) != 0 ||
            protobuf_add_message(&shape, SHAPE_DIM, &dim, err) != 0)
            return -1;
    }
    return protobuf_add_message(&list, LIST_SHAPE, &shape, err) != 0 ||
                   protobuf_add_message(&value, VALUE_LIST, &list, err) != 0 ||
                   protobuf_add_text(&entry, ATTRIBUTE_KEY, "_output_shapes", err) != 0 ||
                   protobuf_add_message(&entry, ATTRIBUTE_VALUE, &value, err) != 0
               ? -1
               : protobuf_add_message(out, NODE_ATTRIBUTE, &entry, err);
}

int graph_def_add(struct buf *graph, const struct graph_def_node *node, struct error *err) {
    cleanup_buf struct buf out = {.max = NODE_MAX};
    if (protobuf_add_text(&out, NODE_NAME, node->name, err) != 0 ||
        protobuf_add_text(&out, NODE_OP, node->op, err) != 0)
        return -1;
    for (size_t i = 0; i < node->input_count; i++)
        if (protobuf_add_text(&out, NODE_INPUT, node->inputs[i], err) != 0)
            return -1;
    if (node->rank > 0 && add_shape(&out, node, err) != 0)
        return -1;
    return protobuf_add_message(graph, GRAPH_NODE, &out, err);
}
