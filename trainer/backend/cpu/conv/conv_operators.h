/* Choice of the kernel for a convolution. It serves OP_CONV2D, its data and weight gradients and
 * OP_CONV2D_AFFINE. Each is a row of the table in conv_operators.c, from the best to oneDNN's,
 * which take all that is left. What is chosen follows from shapes, types and the instruction set
 * alone, by rules that were measured, so that ranks on hosts of one kind choose alike. Private to
 * trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_OPERATORS_H
#define TRAINER_BACKEND_CPU_CONV_CONV_OPERATORS_H

#include "trainer/backend/cpu/conv/conv_kernel.h"

/* Never NULL for these kinds of OP. */
const struct conv_kernel *conv_kernel_of(const struct cpu *cpu, const struct graph *graph,
                                         const struct op *op);

#endif
