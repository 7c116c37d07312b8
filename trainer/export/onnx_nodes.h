/* Nodes of an ONNX graph, made from operators.
 *
 * One function for each kind of operator that a network for classification has; a kind without one
 * is an error that names it. */
#ifndef TRAINER_EXPORT_ONNX_NODES_H
#define TRAINER_EXPORT_ONNX_NODES_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

/* The input of the model. */
#define ONNX_INPUT "input"
#define ONNX_IMAGE "image"

enum { ONNX_NAME_SIZE = TENSOR_NAME_SIZE + 16 };

struct onnx_nodes {
    const struct graph *graph; /* borrowed */
    bool bytes;                /* the input is u8 */
    struct buf *out;           /* fields of a GraphProto are appended; borrowed */
    int count;                 /* nodes so far */
    bool *used;                /* [graph->tensor_count]: weights that a node reads; borrowed */
};

/* Writes the name that the value of TENSOR has in the ONNX graph. */
void onnx_value_name(const struct graph *graph, int tensor, char ret[ONNX_NAME_SIZE]);

/* Appends the nodes of all operators up to the logits. */
int onnx_nodes_add(struct onnx_nodes *nodes, struct error *err);

#endif
