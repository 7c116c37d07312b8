/* Losses of a detector's heads for single numbers; the operators do sums and normalization. In
 * double: heads have few numbers compared with a network's activations. */
#ifndef TRAINER_MATH_DETECT_LOSS_H
#define TRAINER_MATH_DETECT_LOSS_H

#include "trainer/math/kernel.h"

#include <math.h>

/* Smooth L1 of difference D (Girshick, "Fast R-CNN", 2015, equation 3, with the width of its
 * quadratic part as a parameter): |d| - beta / 2, and d^2 / (2 beta) where |d| < beta. For beta 0
 * it is |d|. */
KERNEL double smooth_l1(double d, double beta) {
    double size = fabs(d);
    return size < beta ? 0.5 * d * d / beta : size - 0.5 * beta;
}

/* Its derivative; 0 at d = 0 for every beta, and NaN for NaN. */
KERNEL double smooth_l1_gradient(double d, double beta) {
    if (fabs(d) < beta)
        return d / beta;
    return d > 0 ? 1 : d < 0 ? -1 : d;
}

/* Binary cross entropy of TARGET in 0..1 with the probability sigmoid(LOGIT): -target log p - (1 -
 * target) log(1 - p), without overflow for any logit. */
KERNEL double logit_loss(double logit, double target) {
    double above = logit > 0 ? logit : logit == logit ? 0 : logit;
    return above - logit * target + log1p(exp(-fabs(logit)));
}

/* Its derivative by the logit: p - target. */
KERNEL double logit_loss_gradient(double logit, double target) {
    return 1 / (1 + exp(-logit)) - target;
}

#endif
