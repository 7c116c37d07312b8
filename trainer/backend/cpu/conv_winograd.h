/* A convolution, or its data gradient, by Winograd's products instead of oneDNN's, for the shapes
 * and processors that gain by it. Private to trainer/backend/cpu. */
#ifndef CPU_CONV_WINOGRAD_H
#define CPU_CONV_WINOGRAD_H

#include "cpu/context.h"

bool conv_winograd_has(const struct cpu *cpu, const struct graph *graph, const struct op *op);
int conv_winograd_query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        struct backend_needs *ret_needs);
int conv_winograd_bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct backend_site *site, struct backend_bound *ret_bound,
                       struct error *err);

#endif
