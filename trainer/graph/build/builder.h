/* Helpers of the builder functions of build.h, private to this room. */
#ifndef TRAINER_GRAPH_BUILD_BUILDER_H
#define TRAINER_GRAPH_BUILD_BUILDER_H

#include "trainer/graph/graph.h"

/* Keeps ERR if it is the first; returns TENSOR_NONE. */
int builder_fail(struct graph *graph, const struct error *err);
/* As graph_append, but the first error is kept. Returns the operator's number or -1. */
int builder_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                   const struct op_attr *attr);
/* Appends an operator and returns its output 0. */
int builder_op(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
               const struct op_attr *attr);
/* Writes "NAME.PART"; returns TEXT. */
const char *builder_join(char text[TENSOR_NAME_SIZE], const char *name, const char *part);
/* Returns the last dimension of TENSOR, the channels; 1 after a failure of the builder. */
int64_t builder_channels(const struct graph *graph, int tensor);

#endif
