/* Operators of which only some leading rows count (struct op, `rows`), on a device that can choose
 * while it runs (graph_switch.h): each is bound for eight shares of its rows (graph/row_prefix.h),
 * and a step that was recorded runs the least that holds those that count. The rest of its outputs
 * is left as it is. One packed copy of the weights serves all.
 *
 * Every other step, and operators that lack a kernel for one of the shares, compute all rows. */
#ifndef TRAINER_BACKEND_CUDA_ROW_PREFIX_H
#define TRAINER_BACKEND_CUDA_ROW_PREFIX_H

#include "trainer/backend/cuda/base/context.h"

/* The backend's way to deal with an operator that has no rows of its own. */
struct cuda_row_prefix_of {
    bool (*supports)(const struct backend *backend, const struct graph *graph, const struct op *op);
    int (*query)(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err);
    int (*bind)(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct backend_site *site, struct backend_bound *ret_bound,
                struct error *err);
    void (*release)(struct backend *backend, void *context);
};

/* Whether OP is bound so. */
bool cuda_row_prefix_has(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op);
int cuda_row_prefix_query(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                          const struct graph *graph, const struct op *op,
                          struct backend_needs *ret_needs, struct error *err);
/* The context is a struct cuda_step's. */
int cuda_row_prefix_bind(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op,
                         const struct backend_site *site, struct backend_bound *ret_bound,
                         struct error *err);

#endif
