/* Shared parts of the batch norm operators: statistics of a tensor, the factors of one norm, and
 * their place in an operator's scratch. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_DENSE_NORM_H
#define TRAINER_BACKEND_CPU_DENSE_NORM_H

#include "trainer/backend/cpu/base/reduce.h"

/* One normalization: the first of an operator, or the second of a DUAL one. */
struct norm_branch {
    const void *x;
    const float *gamma, *beta;
    float *mean, *variance;           /* running statistics */
    float *saved_mean, *saved_invstd; /* out, or NULL */
    float *scale, *shift;             /* factors, in scratch */
};

/* Sizes shared by all branches of an operator. */
struct norm_size {
    enum elem elem;
    size_t rows, channels;
    double epsilon, momentum;
};

/* Larger forward results bypass the caches; gradients are read again at once. */
enum { NORM_STREAM_BYTES = 1 << 22 };
/* The second pass goes backwards in blocks of this many rows. */
enum { NORM_BLOCK_ROWS = 64 };

static inline size_t norm_row_bytes(size_t channels) {
    return (channels + 15) / 16 * 16 * sizeof(float);
}

/* Returns the scratch of one forward operator: the reduction's, then four rows of channels. */
size_t norm_forward_scratch(const struct cpu *cpu, size_t channels);
/* Sets the branch's place in that scratch: INDEX 0 or 1. */
void norm_forward_place(const struct cpu *cpu, size_t channels, char *scratch, int index,
                        struct norm_branch *branch);

/* Computes statistics of x over the batch: sets the saved ones, updates the running ones, computes
 * the factors. */
void norm_use_batch(const struct cpu *cpu, const struct norm_size *size,
                    const struct norm_branch *branch, char *scratch);
/* Computes the factors from the running statistics. */
void norm_use_running(const struct norm_size *size, const struct norm_branch *branch);

/* One branch of a gradient. */
struct norm_grad_branch {
    const float *gamma, *beta, *mean, *invstd;
    float *dgamma, *dbeta;            /* out, or NULL */
    float *scale, *shift, *a, *b, *c; /* in scratch */
};

size_t norm_grad_scratch(const struct cpu *cpu, size_t channels);
void norm_grad_place(const struct cpu *cpu, size_t channels, char *scratch, int index,
                     struct norm_grad_branch *branch);
/* Computes the factors for recomputing the forward pass, takes the sums of dz and dz * (x - mean)
 * as REDUCE says, and computes from them, over ROWS, the parameter gradients of the COUNT branches
 * and the a, b, c with dx = dz * a + x * b + c. */
void norm_grad_reduce(const struct reduce *reduce, size_t rows,
                      const struct norm_grad_branch *branches, int count);

/* Query and bind of the form with a pool, and of its gradient (norm_pool.c). */
int norm_pool_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                    struct backend_needs *ret_needs);
int norm_pool_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                   const struct op_addresses *addresses, struct backend_bound *ret_bound,
                   struct error *err);
int norm_pool_grad_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         struct backend_needs *ret_needs);
int norm_pool_grad_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *ret_bound,
                        struct error *err);

#endif
