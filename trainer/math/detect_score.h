/* The probabilities that detections are chosen by: softmax in f32, the same bits everywhere. Users
 * compile with -ffp-contract=off (-fmad=false on the GPU). */
#ifndef TRAINER_MATH_DETECT_SCORE_H
#define TRAINER_MATH_DETECT_SCORE_H

#include "trainer/math/exact_math.h"
#include "trainer/math/kernel.h"

/* Of one row: the probability of class k is exact_exp(logits[k] - most) / sum. With a NaN among the
 * logits, or an infinite one, no probability is above any threshold. */
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

/* No more classes of a row than this have a probability above THRESHOLD: all together are 1. */
KERNEL int detect_likely(float threshold, int classes) {
    int likely = threshold > 0.001f ? (int)(1.0f / threshold) + 1 : classes;
    return likely < classes ? likely : classes;
}

#endif
