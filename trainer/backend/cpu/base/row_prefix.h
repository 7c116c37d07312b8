/* Partial operators on the CPU (struct op, `rows`): each is bound for eight fractions of its rows
 * (graph/row_prefix.h), and a run uses the smallest that contains all rows that count. The rest of
 * its outputs is left unchanged. All fractions share one packed copy of the weights, in the layout
 * of the one that ran last.
 *
 * Convolutions' data gradients have the bits of a run with all rows; sums over rows (weight
 * gradients) may be grouped differently, depending on the count alone. */
#ifndef TRAINER_BACKEND_CPU_BASE_ROW_PREFIX_H
#define TRAINER_BACKEND_CPU_BASE_ROW_PREFIX_H

#include "trainer/backend/cpu/base/context.h"

/* Returns true if OP is bound like this; other operators with `rows` run with all. */
bool row_prefix_has(const struct graph *graph, const struct op *op);
/* Replace the functions of the operator's own ROW: */
int row_prefix_query(const struct cpu_operator *row, const struct cpu *cpu,
                     const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err);
int row_prefix_bind(const struct cpu_operator *row, const struct cpu *cpu,
                    const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err);

#endif
