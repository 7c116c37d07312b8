/* Call of an operator's body in the reference backend. Private to trainer/backend/ref. Slots as in
 * graph/op.h; arrays are dense doubles in the order of the shape; NULL where the slot is absent. */
#ifndef TRAINER_BACKEND_REF_BASE_BODY_H
#define TRAINER_BACKEND_REF_BASE_BODY_H

#include "common/error.h"
#include "trainer/graph/op.h"

struct ref_call {
    struct op op;
    enum dtype dtype; /* of activations */
    struct shape in_shape[OP_INPUTS_MAX], out_shape[OP_OUTPUTS_MAX];
    double *in[OP_INPUTS_MAX], *out[OP_OUTPUTS_MAX];
};

typedef int ref_body(const struct ref_call *call, struct error *err);

#define OP(kind, label, in, out, shape, gradient, flops, places, ref, ...) ref_body ref_##ref;
#include "trainer/graph/ops.def"

/* Rounds input 1, weights, to the activation type. */
void ref_round_weights(const struct ref_call *call);

/* Updates the running statistics of one channel from a batch of ROWS values; VARIANCE is biased. */
void ref_move_running(const struct op_attr *attr, double mean, double variance, int64_t rows,
                      double *running_mean, double *running_variance);

/* A norm with its gradient computed from its masked dy, G [COUNT / CHANNELS, CHANNELS]: adds to
 * dgamma and dbeta, and computes the coefficients of OP_NORM_GRAD_APPLY. */
struct ref_norm {
    const double *x, *gamma, *beta, *mean, *invstd;
    double *dgamma, *dbeta, *coefficients;
};
void ref_norm_reduce(const struct ref_norm *norm, const double *g, int64_t count, int64_t channels);

/* Returns the value of norm number WHICH (0 or 1) of a forward call at element I of its x, given
 * mean and 1 / deviation per channel. */
static inline double ref_norm_at(const struct ref_call *call, int which, const double *mean,
                                 const double *invstd, int64_t i) {
    int first = which == 0 ? NORM_X : NORM_SIDE;
    int64_t c = i % call->in_shape[NORM_X].dim[3];
    return call->in[first + NORM_GAMMA][c] * (call->in[first][i] - mean[c]) * invstd[c] +
           call->in[first + NORM_BETA][c];
}

#endif
