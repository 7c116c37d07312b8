/* Stochastic gradient descent with momentum, torch's form (Sutskever et al. 2013 without the
 * learning rate inside the momentum):
 *
 *     g = gradient * scale + weight_decay * w
 *     m = momentum * m + g
 *     w = w - rate * (nesterov ? g + momentum * m : m)
 *
 * For one element; callers loop over a slice of the store's arenas. `scale` is what turns the
 * arena's sum into the mean (1 / ranks, 1 / micro-batches, 1 / loss scale). A momentum buffer of
 * zeros gives torch's first step. */
#ifndef KERNELS_SGD_H
#define KERNELS_SGD_H

#include "kernels/kernel.h"

struct sgd_step {
    float rate;
    float momentum;
    float weight_decay;
    float scale;
    int nesterov;
};

KERNEL void sgd_update(const struct sgd_step *step, float *weight, float *momentum,
                       float gradient) {
    float g = gradient * step->scale + step->weight_decay * *weight;
    float m = step->momentum * *momentum + g;
    *momentum = m;
    *weight -= step->rate * (step->nesterov ? g + step->momentum * m : m);
}

#endif
