/* GraphDef messages for TensorBoard: a graph of named nodes for its page "Graphs"
 * (tensorflow/core/framework/graph.proto, node_def.proto, attr_value.proto).
 *
 * Slashes in the names of nodes group them; names are unique. */
#ifndef TRAINER_TELEMETRY_GRAPH_DEF_H
#define TRAINER_TELEMETRY_GRAPH_DEF_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { GRAPH_DEF_NAME_SIZE = 128, GRAPH_DEF_RANK_MAX = 4, GRAPH_DEF_INPUTS_MAX = 32 };

struct graph_def_node {
    const char *name;                         /* "layer1/0/conv1" */
    const char *op;                           /* "conv2d" */
    const char *inputs[GRAPH_DEF_INPUTS_MAX]; /* names of other nodes */
    size_t input_count;
    int64_t dim[GRAPH_DEF_RANK_MAX]; /* of its output */
    int rank;                        /* 0: the shape is not known */
};

/* Writes NAME with '/' for '.' and '_' for what TensorBoard does not take in a name. */
void graph_def_name(char ret[GRAPH_DEF_NAME_SIZE], const char *name);

/* Appends a node to a GraphDef. */
int graph_def_add(struct buf *graph, const struct graph_def_node *node, struct error *err);

#endif
