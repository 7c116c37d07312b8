/* Operators on leading rows: run an operator only on the first R of its rows (struct op, `rows`),
 * for backends that avoid unnecessary rows. The first R rows of a tensor are contiguous and so form
 * a tensor themselves, on which the operator runs as usual. R is rounded up to one of eight
 * fractions of the rows: 1/16, 1/8, 3/16, 1/4, 3/8, 1/2, 3/4 and all. */
#ifndef TRAINER_GRAPH_ROW_PREFIX_H
#define TRAINER_GRAPH_ROW_PREFIX_H

#include "trainer/graph/graph.h"

enum { ROW_PARTS = 8 };

/* Returns the rows of all tensors of OP that have them; 0 if OP has no `rows`, or cannot run
 * partially. */
int64_t row_prefix_capacity(const struct graph *graph, const struct op *op);
/* Returns R of fraction PART for CAPACITY rows, at least 1. */
int64_t row_prefix_rows(int64_t capacity, int part);

/* An operator with fewer rows: a graph of its tensors alone. Must not move. */
struct row_prefix {
    struct tensor tensors[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
    struct graph graph;
    struct op op;
};

void row_prefix_make(struct row_prefix *part, const struct graph *graph, const struct op *op,
                     int64_t rows);

#endif
