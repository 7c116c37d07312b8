#include "trainer/backend/cpu/conv/conv_fold.h"
#include "trainer/backend/cpu/base/parallel.h"

#include <math.h>

/* A frozen norm is y = x * scale + bias per channel with constant factors, so it can be part of the
 * convolution: scaled weights, and a bias. Without a norm, weights and bias are used where they are
 * and nothing is folded. Factors are computed in double and rounded once. */

static size_t bias_bytes(const struct tensor *w) {
    return backend_aligned((size_t)w->shape.dim[0] * sizeof(float));
}

size_t conv_fold_bytes(const struct graph *graph, const struct op *op) {
    const struct tensor *w = cpu_input(graph, op, AFFINE_W);
    if (op->inputs[AFFINE_GAMMA] == TENSOR_NONE)
        return 0;
    return bias_bytes(w) + backend_aligned((size_t)tensor_count(w) * sizeof(float));
}

/* The bias precedes the weights in `packed`, so both are aligned. */
void conv_fold_place(struct conv_fold *fold, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses) {
    const struct tensor *w = cpu_input(graph, op, AFFINE_W);
    *fold = (struct conv_fold){.weights = addresses->inputs[AFFINE_W],
                               .bias = addresses->inputs[AFFINE_BIAS],
                               .w = addresses->inputs[AFFINE_W],
                               .gamma = addresses->inputs[AFFINE_GAMMA],
                               .beta = addresses->inputs[AFFINE_BETA],
                               .mean = addresses->inputs[AFFINE_MEAN],
                               .variance = addresses->inputs[AFFINE_VARIANCE],
                               .outputs = (size_t)w->shape.dim[0],
                               .epsilon = op->attr.epsilon};
    fold->row = (size_t)tensor_count(w) / fold->outputs;
    if (fold->gamma == NULL)
        return;
    fold->bias = addresses->packed;
    fold->weights = (float *)(void *)((char *)addresses->packed + bias_bytes(w));
}

/* Outputs are independent, so threads take them one by one. */
static void refresh_output(void *context, int thread, size_t o) {
    (void)thread;
    const struct conv_fold *fold = context;
    double scale = (double)fold->gamma[o] / sqrt((double)fold->variance[o] + fold->epsilon);
    fold->bias[o] = (float)((double)fold->beta[o] - (double)fold->mean[o] * scale);
    for (size_t i = o * fold->row; i < (o + 1) * fold->row; i++)
        fold->weights[i] = (float)((double)fold->w[i] * scale);
}

void conv_fold_refresh(const struct conv_fold *fold, const struct cpu *cpu) {
    if (fold->gamma != NULL)
        parallel_units(cpu->threads, fold->outputs, refresh_output, (void *)fold);
}
