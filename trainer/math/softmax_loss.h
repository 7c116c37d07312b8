/* Softmax cross entropy with label smoothing (Szegedy et al. 2016, section 7) for one sample, as
 * defined by OP_SOFTMAX_CROSS_ENTROPY. In double: a batch has few logits compared with its
 * activations. */
#ifndef TRAINER_MATH_SOFTMAX_LOSS_H
#define TRAINER_MATH_SOFTMAX_LOSS_H

#include "trainer/math/kernel.h"

#include <math.h>
#include <stdbool.h>

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

/* The same of logits in single precision, also computed in double. */
KERNEL double softmax_log_sum_f32(const float *logits, int classes) {
    double most = (double)logits[0];
    for (int k = 1; k < classes; k++)
        most = fmax(most, (double)logits[k]);
    double sum = 0;
    for (int k = 0; k < classes; k++)
        sum += exp((double)logits[k] - most);
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

/* Returns true if class K with logit OTHER ranks before LABEL with logit OWN: it is greater, or
 * equal with a lower number. A NaN ranks before everything, and everything before a NaN: NaN is
 * never a right answer. */
KERNEL bool softmax_before(double other, double own, int k, int label) {
    return !(other <= own) || (other == own && k < label);
}

/* Returns true if a label is among the first TOP of CLASSES, given how many classes rank before
 * it. */
KERNEL bool softmax_among(int before, int top, int classes) {
    return before < (top < classes ? top : classes);
}

#endif
