/* Probabilities by which detections are selected: softmax in f32 with the same bits everywhere.
 * Compile the users of this header with -ffp-contract=off (-fmad=false on the GPU). */
#ifndef TRAINER_MATH_DETECT_SCORE_H
#define TRAINER_MATH_DETECT_SCORE_H

#include "trainer/math/exact_math.h"
#include "trainer/math/kernel.h"

/* Softmax of one row: the probability of class k is exact_exp(logits[k] - most) / sum. With a NaN
 * or infinite logit no probability is above any threshold. */
struct detect_softmax {
    float most, sum;
};

KERNEL struct detect_softmax detect_softmax(const float *logits, int classes) {
    struct detect_softmax s;
    s.most = logits[0];
    s.sum = 0.0f;
    for (int k = 1; k < classes; k++)
        s.most = logits[k] > s.most ? logits[k] : s.most;
    for (int k = 0; k < classes; k++)
        s.sum += exact_exp(logits[k] - s.most);
    return s;
}

KERNEL float detect_probability(const struct detect_softmax *s, float logit) {
    return exact_exp(logit - s->most) / s->sum;
}

/* Returns the maximum number of classes of a row with a probability above THRESHOLD: their sum is
 * 1. */
KERNEL int detect_likely(float threshold, int classes) {
    int likely = threshold > 0.001f ? (int)(1.0f / threshold) + 1 : classes;
    return likely < classes ? likely : classes;
}

#endif
