/* Partial operators on a GPU (struct op, `rows`). They exist if the GPU can choose while it runs
 * (graph_switch.h): each is bound for eight fractions of its rows (graph/row_prefix.h), and a
 * recorded step runs the smallest that contains all rows that count. The rest of its outputs is
 * left unchanged. All fractions share one packed copy of the weights.
 *
 * Unrecorded steps, and operators that lack a kernel for one of the fractions, compute all rows. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_ROW_PREFIX_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_ROW_PREFIX_H

#include "trainer/backend/cuda/base/context.h"

/* The backend's functions for an operator that is not partial itself. */
struct cuda_row_prefix_of {
    bool (*supports)(const struct backend *backend, const struct graph *graph, const struct op *op);
    int (*query)(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err);
    int (*bind)(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err);
    void (*release)(struct backend *backend, void *context);
};

/* Returns true if OP is bound like this. */
bool cuda_row_prefix_has(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op);
int cuda_row_prefix_query(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                          const struct graph *graph, const struct op *op,
                          struct backend_needs *ret_needs, struct error *err);
/* The context begins with a struct cuda_step. */
int cuda_row_prefix_bind(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err);

#endif
