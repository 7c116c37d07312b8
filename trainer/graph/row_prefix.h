/* Operators of which only some leading rows count (struct op, `rows`), for backends that compute no
 * more of them than they have to. Rows of a tensor lie one behind the other, so that the first R of
 * them are a tensor of R rows, and an operator on these alone is an operator as any other: here are
 * the eight R that are worth while, 1/16, 1/8, 3/16, 1/4, 3/8, 1/2, 3/4 and all of the rows. */
#ifndef TRAINER_GRAPH_ROW_PREFIX_H
#define TRAINER_GRAPH_ROW_PREFIX_H

#include "trainer/graph/graph.h"

enum { ROW_PARTS = 8 };

/* Rows of all tensors of OP that have them; 0 where OP has no `rows`, or no such part. */
int64_t row_prefix_capacity(const struct graph *graph, const struct op *op);
/* R number PART of CAPACITY rows, at least 1. */
int64_t row_prefix_rows(int64_t capacity, int part);

/* An operator with fewer rows: a graph of its tensors alone. Stays where it was made. */
struct row_prefix {
    struct tensor tensors[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
    struct graph graph;
    struct op op;
};

void row_prefix_make(struct row_prefix *part, const struct graph *graph, const struct op *op,
                     int64_t rows);

#endif
