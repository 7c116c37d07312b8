/* Folds of a frozen norm or bias into the convolution before it. For OP_CONV2D_AFFINE these are the
 * norm's scales times the weights, and its bias. The folded values precede a kernel's own packed
 * weights, conv_fold_bytes() in all. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_FOLD_H
#define TRAINER_BACKEND_CPU_CONV_CONV_FOLD_H

#include "trainer/backend/cpu/base/context.h"

struct conv_fold {
    float *weights, *bias; /* of the folded convolution, [O][H][W][I] and [O]; not owned */
    const float *w, *gamma, *beta, *mean, *variance; /* gamma NULL: there is no norm */
    size_t outputs, row;                             /* row: number of weights of an output */
    double epsilon;
};

/* Returns a multiple of BACKEND_ALIGNMENT; 0 without a norm. */
size_t conv_fold_bytes(const struct graph *graph, const struct op *op);
void conv_fold_place(struct conv_fold *fold, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses);
/* Updates `weights` and `bias`. */
void conv_fold_refresh(const struct conv_fold *fold, const struct cpu *cpu);

#endif
