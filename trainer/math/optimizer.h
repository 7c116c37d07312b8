/* Optimizers, for one element; callers loop over a slice of the store's arenas. `scale` turns the
 * arena's sum into the mean (1 / ranks, 1 / micro-batches, 1 / loss scale). State of zeros gives
 * the first step. With g = gradient * scale, w the weight, m and v what the optimizer keeps of it,
 * d = weight_decay * w and mu = momentum:
 *
 *     sgd      g += d;  m = mu m + g;  w -= rate * (nesterov ? g + mu m : m)
 *              torch's form, without the rate inside the momentum (Sutskever et al. 2013)
 *     lars     s = factor * rate * (g + d);  m = mu m + s;  w -= nesterov ? mu m + s : m
 *              factor = trust |w| / (|g| + weight_decay |w| + epsilon) (You et al., arXiv
 *              1708.03888, as in MLPerf's reference: the rate is inside the momentum)
 *     larc     sgd on factor * (g + d), without a second decay
 *              factor = min(trust |w| / (|g + d| rate), 1) (NVIDIA's OpenSeq2Seq and apex)
 *     adamw    w -= rate * d;  m = mu m + (1 - mu) g;  v = second v + (1 - second) g^2;
 *              w -= rate m' / (sqrt(v') + epsilon), m' and v' corrected for the start at zero
 *              (Loshchilov and Hutter, arXiv 1711.05101; torch's AdamW)
 *     adagrad  g += d;  v += g^2;  w -= rate * g / (sqrt(v) + epsilon)
 *              (Duchi et al. 2011; torch's Adagrad)
 *
 * |w| and |g| are norms of a whole tensor. Those of lars and larc that do not adapt have a factor
 * of 1. */
#ifndef TRAINER_MATH_OPTIMIZER_H
#define TRAINER_MATH_OPTIMIZER_H

#include "trainer/math/kernel.h"

#include <math.h>
#include <stdint.h>

enum optimizer_kind {
    OPTIMIZER_SGD,
    OPTIMIZER_LARS,
    OPTIMIZER_LARC,
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAGRAD,
    OPTIMIZER_KINDS
};

/* Numbers of one update. */
struct optimizer_step {
    int kind; /* enum optimizer_kind */
    float rate;
    float momentum; /* adamw: beta1 */
    float weight_decay;
    float scale;
    int nesterov;
    float trust;        /* lars, larc: the ratio of update to weight, eta */
    float second;       /* adamw: beta2 */
    float epsilon;      /* lars, adamw, adagrad */
    float average;      /* decay of the average of weights; 0: there is none */
    float factor;       /* lars, larc: of this tensor */
    float correct[2];   /* adamw: of m and of sqrt(v) at this update */
    float average_kept; /* decay of the average at this update */
};

/* Parameter group: settings that differ for biases and norms. */
struct optimizer_group {
    float rate; /* factor of the step's learning rate */
    float decay;
    int adapts; /* lars, larc: its tensors have factors */
};

enum { OPTIMIZER_GROUPS = 8 };

/* One step of all parameters. If the norm of the mean gradient of all of them, taken as one
 * vector, exceeds clip_norm, it is scaled down to it before decay is added (Pascanu et al. 2013);
 * 0: no clipping. */
struct optimizer_rule {
    struct optimizer_step step; /* its weight_decay is not used: the groups have their own */
    struct optimizer_group groups[OPTIMIZER_GROUPS];
    float clip_norm;
};

/* A part of one tensor, in elements of the arena, that a block of a device sums. */
struct optimizer_piece {
    uint32_t first, count;
};

/* The addresses of one element's state; NULL where the optimizer has none. */
struct optimizer_state {
    float *momentum, *second, *average;
};

/* Returns true if the optimizer needs norms of each tensor. */
KERNEL int optimizer_adapts(int kind) {
    return kind == OPTIMIZER_LARS || kind == OPTIMIZER_LARC;
}

/* Returns STEP as it is at update NUMBER, from 1 on: how far the moments have left zero, and the
 * average's decay, which rises to its value: min(average, (1 + n) / (10 + n)), as TensorFlow's. */
KERNEL struct optimizer_step optimizer_at(struct optimizer_step step, int64_t number) {
    double n = (double)number, kept = (1 + n) / (10 + n);
    step.factor = 1;
    step.average_kept = kept < step.average ? (float)kept : step.average;
    if (step.kind != OPTIMIZER_ADAMW)
        return step;
    step.correct[0] = (float)(1 / (1 - pow(step.momentum, n)));
    step.correct[1] = (float)(1 / sqrt(1 - pow(step.second, n)));
    return step;
}

/* Returns STEP for the parameters of GROUP. */
KERNEL struct optimizer_step optimizer_of_group(struct optimizer_step step,
                                                struct optimizer_group group) {
    step.rate *= group.rate;
    step.weight_decay = group.decay;
    return step;
}

/* Returns the factor for SCALE, given the sum of SQUARES of all gradients: torch's
 * clip_grad_norm_. */
KERNEL float optimizer_clip(const struct optimizer_rule *rule, float scale, double squares) {
    double norm = sqrt(squares) * (double)scale, factor = rule->clip_norm / (norm + 1e-6);
    return factor < 1 ? (float)factor : 1;
}

/* Returns what |g| of the factor is the norm of. */
KERNEL float optimizer_measured(const struct optimizer_step *step, float weight, float gradient) {
    float g = gradient * step->scale;
    return step->kind == OPTIMIZER_LARC ? g + step->weight_decay * weight : g;
}

/* Returns a tensor's factor, given the sums of squares of its weights and of
 * optimizer_measured. */
KERNEL float optimizer_factor(const struct optimizer_step *step, double weights, double gradients) {
    double w = sqrt(weights), g = sqrt(gradients), factor = 1;
    if (step->kind == OPTIMIZER_LARS)
        return w > 0 && g > 0
                   ? (float)((double)step->trust * w /
                             (g + (double)step->weight_decay * w + (double)step->epsilon))
                   : 1;
    if (step->rate > 0)
        factor = w > 0 && g > 0 ? (double)step->trust * w / (g * (double)step->rate)
                                : 1 / (double)step->rate;
    return factor < 1 ? (float)factor : 1;
}

KERNEL void sgd_update(const struct optimizer_step *step, float *weight, float *momentum,
                       float gradient) {
    float g = gradient * step->scale + step->weight_decay * *weight;
    float m = step->momentum * *momentum + g;
    *momentum = m;
    *weight -= step->rate * (step->nesterov ? g + step->momentum * m : m);
}

KERNEL void lars_update(const struct optimizer_step *step, float *weight, float *momentum,
                        float gradient) {
    float s = step->rate * step->factor * (gradient * step->scale + step->weight_decay * *weight);
    float m = step->momentum * *momentum + s;
    *momentum = m;
    *weight -= step->nesterov ? step->momentum * m + s : m;
}

KERNEL void larc_update(const struct optimizer_step *step, float *weight, float *momentum,
                        float gradient) {
    float g = step->factor * (gradient * step->scale + step->weight_decay * *weight);
    float m = step->momentum * *momentum + g;
    *momentum = m;
    *weight -= step->rate * (step->nesterov ? g + step->momentum * m : m);
}

KERNEL void adamw_update(const struct optimizer_step *step, float *weight, float *momentum,
                         float *second, float gradient) {
    float g = gradient * step->scale, w = *weight;
    float m = step->momentum * *momentum + (1 - step->momentum) * g;
    float v = step->second * *second + (1 - step->second) * g * g;
    *momentum = m;
    *second = v;
    w -= step->rate * step->weight_decay * w;
    *weight = w - step->rate * step->correct[0] * m / (sqrtf(v) * step->correct[1] + step->epsilon);
}

KERNEL void adagrad_update(const struct optimizer_step *step, float *weight, float *second,
                           float gradient) {
    float g = gradient * step->scale + step->weight_decay * *weight;
    float v = *second + g * g;
    *second = v;
    *weight -= step->rate * g / (sqrtf(v) + step->epsilon);
}

/* Returns the average after the update that made WEIGHT. */
KERNEL float optimizer_averaged(float kept, float average, float weight) {
    return kept * average + (1 - kept) * weight;
}

/* One update of one element by the optimizer KIND, which is step->kind: a constant where the caller
 * loops. Its average is not updated. */
KERNEL void optimizer_update(int kind, const struct optimizer_step *step, float *weight,
                             struct optimizer_state at, float gradient) {
    switch (kind) {
    case OPTIMIZER_LARS:
        lars_update(step, weight, at.momentum, gradient);
        break;
    case OPTIMIZER_LARC:
        larc_update(step, weight, at.momentum, gradient);
        break;
    case OPTIMIZER_ADAMW:
        adamw_update(step, weight, at.momentum, at.second, gradient);
        break;
    case OPTIMIZER_ADAGRAD:
        adagrad_update(step, weight, at.second, gradient);
        break;
    default:
        sgd_update(step, weight, at.momentum, gradient);
    }
}

#endif
