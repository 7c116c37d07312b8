/* Appending operators to a graph: the table's shape rule makes their outputs. */
#ifndef TRAINER_GRAPH_RULES_APPEND_H
#define TRAINER_GRAPH_RULES_APPEND_H

#include "common/error.h"
#include "trainer/graph/graph.h"

/* Appends an operator: INPUTS has a slot for each of the kind's inputs. The shape rule makes the
 * outputs. Returns its number or -1. */
int graph_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, struct error *err);

#endif
