/* Operators of which only some leading rows count (struct op, `rows`): each is bound for eight
 * shares of its rows (graph/row_prefix.h), and a run takes the least that holds those that count.
 * The rest of its outputs is left as it is. One packed copy of the weights serves all, in the
 * layout of who ran last.
 *
 * Convolutions' data gradients have the bits of a run with all rows; sums over rows (gradients of
 * weights) may be grouped otherwise, by the count alone. */
#ifndef TRAINER_BACKEND_CPU_BASE_ROW_PREFIX_H
#define TRAINER_BACKEND_CPU_BASE_ROW_PREFIX_H

#include "trainer/backend/cpu/base/context.h"

/* Whether OP is bound so; other operators with `rows` run with all. */
bool row_prefix_has(const struct graph *graph, const struct op *op);
/* In the place of the operator's own ROW: */
int row_prefix_query(const struct cpu_operator *row, const struct cpu *cpu,
                     const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err);
int row_prefix_bind(const struct cpu_operator *row, const struct cpu *cpu,
                    const struct graph *graph, const struct op *op, const struct backend_site *site,
                    struct backend_bound *ret_bound, struct error *err);

#endif
