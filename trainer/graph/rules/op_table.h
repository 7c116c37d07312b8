/* Table of the operators: what each kind of operator takes and makes, and what it costs.
 *
 * A row is made of the list in ops.def; its shape rule checks inputs and makes outputs. */
#ifndef TRAINER_GRAPH_RULES_OP_TABLE_H
#define TRAINER_GRAPH_RULES_OP_TABLE_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

struct op_cost {
    double flops; /* a multiply-add counts as two */
    double bytes; /* each tensor read or written once, however many passes that takes */
};

/* OUTPUT may reuse the memory of INPUT if that is not needed afterwards: each element is read no
 * later than the one with the same index is written. */
struct op_in_place {
    int output, input;
    unsigned forms; /* bits of enum norm_form for which it may; 0: always */
};

enum { OP_IN_PLACE_MAX = 4 };

struct op_rule {
    const char *name; /* "conv2d_grad_data" */
    int inputs;       /* slots, including optional ones */
    int outputs;
    /* Checks the inputs and sets shape and type of the outputs. */
    int (*shape)(struct graph *graph, struct op *op, struct error *err);
    double (*flops)(const struct graph *graph, const struct op *op);
    struct op_in_place in_place[OP_IN_PLACE_MAX]; /* tried in this order */
    int in_place_count;
};

const struct op_rule *op_rule(enum op_kind kind);
/* Returns true if PLACE, one of its rule's, is allowed for OP. */
static inline bool op_may_place(const struct op *op, const struct op_in_place *place) {
    return place->forms == 0 || (place->forms >> op->attr.form & 1) != 0;
}
struct op_cost op_cost(const struct graph *graph, const struct op *op);

/* Appends an operator: INPUTS has a slot for each of the kind's inputs. The shape rule makes the
 * outputs. Returns its number or -1. */
int graph_append(struct graph *graph, enum op_kind kind, const char *name, const int *inputs,
                 const struct op_attr *attr, struct error *err);

#endif
