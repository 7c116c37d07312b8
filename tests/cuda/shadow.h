/* A second opinion on an operator of the emulated device: before each of its runs ref computes the
 * same from the same inputs, into memory of its own. So an operator is judged by its own rounding
 * alone, on the values that a network really has, however far off its inputs are by then. */
#ifndef TESTS_CUDA_SHADOW_H
#define TESTS_CUDA_SHADOW_H

#include "trainer/graph/backend.h"

struct shadow;

/* REF outlives it. NULL and ERR where there is no memory. */
struct shadow *shadow_bind(struct backend *ref, const struct graph *graph, const struct op *op,
                           const struct op_addresses *addresses, struct error *err);
int shadow_run(struct shadow *shadow, struct error *err);
/* After the operator's own run: the worst of its outputs, as parity_error (ops/parity.h). */
double shadow_error(const struct shadow *shadow);
const struct op *shadow_op(const struct shadow *shadow);
void shadow_done(struct shadow *shadow);

#endif
