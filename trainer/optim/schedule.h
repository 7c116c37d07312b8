/* Learning rate schedule of a run: a pure function of the step. Warm-up, then decay to the end of
 * the run. A warm-up keeps its slope if the run ends before it. END, 0 by default, is where poly2
 * and cosine end.
 *
 *     warm-up     step s of W: peak * (s + 1) / W (linear; W may be 0), or, from a share f of the
 *                 peak on, peak * (f + (1 - f) * s / W) (torch's LinearLR)
 *     after it    t = (s - W) / (T - W), of T steps in all
 *     constant    peak
 *     step        peak / 10 from 1/3, / 100 from 2/3, / 1000 from 8/9 of all T steps (the 30, 60
 *                 and 80 of 90 epochs in Goyal et al., arXiv 1706.02677, section 5.1)
 *     milestones  peak * factor^k from the k-th milestone on (torch's MultiStepLR); one that lies
 *                 within the warm-up counts there, too
 *     poly2       end + (peak - end) * (1 - t)^2 (TensorFlow's polynomial_decay)
 *     cosine      end + (peak - end) * (1 + cos(pi t)) / 2 (Loshchilov and Hutter, arXiv
 *                 1608.03983; torch's CosineAnnealingLR)
 *     linear-cosine  peak * ((1 - t) * (1 + cos(2 pi 0.47 t)) / 2 + 1e-5): TensorFlow's
 *                 linear_cosine_decay (Bello et al., arXiv 1709.07417) with the numbers of
 *                 the AWS Deep Learning AMI's ResNet-50
 *     one-cycle   torch's OneCycleLR with its defaults (Smith and Topin, arXiv 1708.07120): along
 *                 cosines from peak / 25 up to peak in 3/10 of the run, then down to peak / 25e4;
 *                 it takes no warm-up. Momentum falls from 0.95 to 0.85 meanwhile, and rises
 *                 again */
#ifndef TRAINER_OPTIM_SCHEDULE_H
#define TRAINER_OPTIM_SCHEDULE_H

#include <stdint.h>

enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEP,
    SCHEDULE_POLY2,
    SCHEDULE_COSINE,
    SCHEDULE_MILESTONES,
    SCHEDULE_LINEAR_COSINE,
    SCHEDULE_ONE_CYCLE
};

enum { SCHEDULE_MILESTONES_MAX = 8 };
enum { SCHEDULE_ONE_CYCLE_LEAST = 4 }; /* steps */

struct schedule {
    enum schedule_kind kind;
    double peak;
    double end;
    int64_t warmup_steps;
    int64_t total_steps;
    double warmup_from;                          /* f; 0: the first formula of warm-up */
    int64_t milestones[SCHEDULE_MILESTONES_MAX]; /* steps, ascending */
    int milestone_count;
    double factor;
};

/* Returns the learning rate of step STEP, counted from 0. Steps after the end get that of the last
 * one. */
double schedule_rate(const struct schedule *s, int64_t step);

/* Returns the momentum of step STEP: MOMENTUM, unless the schedule has its own. */
double schedule_momentum(const struct schedule *s, int64_t step, double momentum);

/* Linear scaling rule: LR refers to BATCH images a step, the job takes GLOBAL_BATCH. A BATCH of 0
 * returns LR unchanged. */
double schedule_scale(double lr, int64_t batch, int64_t global_batch);

#endif
