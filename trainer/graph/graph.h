/* Static graph of a model: tensors and operators in the order in which they run. A model is
 * described once with the builder functions of build.h, then compiled (program/program.h), which
 * rewrites the graph.
 *
 * Ownership: the graph owns all it holds until graph_done. Not thread safe. */
#ifndef TRAINER_GRAPH_GRAPH_H
#define TRAINER_GRAPH_GRAPH_H

#include "common/error.h"
#include "trainer/graph/op.h"
#include "trainer/graph/tensor.h"

#include <stdbool.h>

/* ResNet-152 takes about 5,000 tensors with its backward pass. */
enum { GRAPH_TENSORS_MAX = 65536, GRAPH_OPS_MAX = 32768, GRAPH_LOSSES_MAX = 8 };

/* What the optimizer keeps of every parameter, as bits. */
enum { GRAPH_KEEPS_MOMENTUM = 1, GRAPH_KEEPS_SECOND = 2, GRAPH_KEEPS_AVERAGE = 4 };

struct graph {
    enum dtype dtype; /* of activations */
    bool training;    /* batch norm uses batch statistics; a compile adds the backward pass */
    unsigned keeps;   /* in training; momentum, unless it is changed before a compile */
    struct tensor *tensors;
    int tensor_count;
    size_t tensor_capacity;
    struct op *ops;
    int op_count;
    size_t op_capacity;
    int *gradient;                /* per tensor, for gradients.c */
    int losses[GRAPH_LOSSES_MAX]; /* the operators where backward starts */
    int loss_count;
    int rows;           /* of the operators to be appended (struct op) */
    bool frozen;        /* graph_freeze */
    struct error error; /* of the first builder call that failed */
    bool failed;
};

void graph_init(struct graph *graph, enum dtype dtype, bool training);
void graph_done(struct graph *graph);
/* Returns 0, or -1 with the first error of the calls before. */
int graph_finish(const struct graph *graph, struct error *err);

int graph_tensor(struct graph *graph, const char *name, enum dtype dtype, struct shape shape,
                 enum tensor_role role, struct error *err);
/* Room for one more operator. */
int graph_reserve(struct graph *graph, struct error *err);
/* Inserts OP, with its outputs made already, before operator NUMBER. That one and those after it
 * move up by one. */
int graph_insert(struct graph *graph, int number, const struct op *op, struct error *err);
/* For shape rules: makes output SLOT, an activation. */
int graph_set_output(struct graph *graph, struct op *op, int slot, enum dtype dtype,
                     struct shape shape, struct error *err);
/* Returns the tensor with this name, or TENSOR_NONE. */
int graph_find(const struct graph *graph, const char *name);

#endif
