/* A convolution's weight gradient by a kernel of our own, for the shapes and processors that have
 * one; oneDNN makes the others (conv.c). Private to trainer/backend/cpu. */
#ifndef CPU_CONV_WEIGHT_H
#define CPU_CONV_WEIGHT_H

#include "cpu/context.h"

bool conv_weight_has(const struct cpu *cpu, const struct graph *graph, const struct op *op);
int conv_weight_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      struct backend_needs *ret_needs);
int conv_weight_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct backend_site *site, struct backend_bound *ret_bound,
                     struct error *err);

#endif
