/* Stochastic gradient descent with momentum in torch's form (Sutskever et al. 2013 without the
 * learning rate inside the momentum):
 *
 *     g = gradient * scale + weight_decay * w
 *     m = momentum * m + g
 *     w = w - rate * (nesterov ? g + momentum * m : m)
 *
 * For one element; callers loop over a slice of the store's arenas. `scale` turns the arena's sum
 * into the mean (1 / ranks, 1 / micro-batches, 1 / loss scale). A momentum buffer of zeros gives
 * torch's first step. */
#ifndef TRAINER_MATH_SGD_H
#define TRAINER_MATH_SGD_H

#include "trainer/math/kernel.h"

#include <math.h>

struct sgd_step {
    float rate;
    float momentum;
    float weight_decay;
    float scale;
    int nesterov;
};

/* Parameter group: settings that differ for biases and norms. */
struct sgd_group {
    float rate; /* factor of the step's learning rate */
    float decay;
};

enum { SGD_GROUPS = 8 };

/* One step of all parameters. If the norm of the mean gradient of all of them, taken as one
 * vector, exceeds clip_norm, it is scaled down to it before decay is added (Pascanu et al. 2013);
 * 0: no clipping. */
struct sgd_rule {
    struct sgd_step step; /* its weight_decay is not used: the groups have their own */
    struct sgd_group groups[SGD_GROUPS];
    float clip_norm;
};

/* Returns STEP for the parameters of GROUP. */
KERNEL struct sgd_step sgd_of_group(struct sgd_step step, struct sgd_group group) {
    step.rate *= group.rate;
    step.weight_decay = group.decay;
    return step;
}

/* Returns the factor for SCALE, given the sum of SQUARES of all gradients: torch's
 * clip_grad_norm_. */
KERNEL float sgd_clip(const struct sgd_rule *rule, float scale, double squares) {
    double norm = sqrt(squares) * (double)scale, factor = rule->clip_norm / (norm + 1e-6);
    return factor < 1 ? (float)factor : 1;
}

KERNEL void sgd_update(const struct sgd_step *step, float *weight, float *momentum,
                       float gradient) {
    float g = gradient * step->scale + step->weight_decay * *weight;
    float m = step->momentum * *momentum + g;
    *momentum = m;
    *weight -= step->rate * (step->nesterov ? g + step->momentum * m : m);
}

#endif
