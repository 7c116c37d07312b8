/* Softmax cross entropy with label smoothing (Szegedy et al. 2016, section 7) for one sample, as
 * OP_SOFTMAX_CROSS_ENTROPY defines it. In double: a batch has few logits beside its activations. */
#ifndef KERNELS_SOFTMAX_LOSS_H
#define KERNELS_SOFTMAX_LOSS_H

#include "kernels/kernel.h"

#include <math.h>

/* log sum exp of CLASSES logits. */
KERNEL double softmax_log_sum(const double *logits, int classes) {
    double most = logits[0];
    for (int k = 1; k < classes; k++)
        most = logits[k] > most ? logits[k] : most;
    double sum = 0;
    for (int k = 0; k < classes; k++)
        sum += exp(logits[k] - most);
    return most + log(sum);
}

KERNEL double softmax_loss(const double *logits, int classes, int label, double smoothing) {
    double sum = 0;
    for (int k = 0; k < classes; k++)
        sum += logits[k];
    return softmax_log_sum(logits, classes) - (1 - smoothing) * logits[label] -
           smoothing / classes * sum;
}

/* The derivative of softmax_loss by logits[k]; LOG_SUM is softmax_log_sum of the sample. */
KERNEL double softmax_loss_gradient(const double *logits, int classes, int label, double smoothing,
                                    double log_sum, int k) {
    double target = smoothing / classes + (k == label ? 1 - smoothing : 0);
    return exp(logits[k] - log_sum) - target;
}

/* How many classes are in front of LABEL: those with a greater logit, or the same and a lower
 * number. 0 is a correct top-1 answer. */
KERNEL int softmax_rank(const double *logits, int classes, int label) {
    int before = 0;
    for (int k = 0; k < classes; k++)
        before += logits[k] > logits[label] || (logits[k] == logits[label] && k < label);
    return before;
}

#endif
