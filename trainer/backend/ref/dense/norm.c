#include "trainer/backend/ref/base/body.h"
#include "trainer/math/pool.h"
#include "trainer/math/relu.h"

#include <math.h>

/* Mean and biased variance of every channel of X (ROWS x CHANNELS), in two passes. */
static void statistics(const double *x, int64_t rows, int64_t channels, double *mean,
                       double *variance) {
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += x[i * channels + c];
        mean[c] = sum / (double)rows;
        for (int64_t i = 0; i < rows; i++) {
            double apart = x[i * channels + c] - mean[c];
            squares += apart * apart;
        }
        variance[c] = squares / (double)rows;
    }
}

/* A single row has no unbiased variance. */
void ref_move_running(const struct op_attr *attr, double mean, double variance, int64_t rows,
                      double *running_mean, double *running_variance) {
    double unbiased = rows > 1 ? variance * (double)rows / (double)(rows - 1) : variance;
    *running_mean += attr->momentum * (mean - *running_mean);
    *running_variance += attr->momentum * (unbiased - *running_variance);
}

/* Computes the saved statistics of norm WHICH and updates its running ones. */
static void norm_statistics(const struct ref_call *call, int which, double *mean, double *invstd) {
    const struct shape *x = &call->in_shape[NORM_X];
    int first = which == 0 ? NORM_X : NORM_SIDE;
    int64_t channels = x->dim[3], rows = shape_count(x) / channels;
    double *running_mean = call->in[first + NORM_MEAN];
    double *running_variance = call->in[first + NORM_VARIANCE];
    statistics(call->in[first], rows, channels, mean, invstd);
    for (int64_t c = 0; c < channels; c++) {
        ref_move_running(&call->op.attr, mean[c], invstd[c], rows, &running_mean[c],
                         &running_variance[c]);
        invstd[c] = 1.0 / sqrt(invstd[c] + call->op.attr.epsilon);
    }
}

/* Per-channel statistics of both norms. */
struct norm_statistics {
    double *mean[2], *invstd[2];
};

static double output_at(const struct ref_call *call, const struct norm_statistics *s, int64_t i) {
    double y = ref_norm_at(call, 0, s->mean[0], s->invstd[0], i);
    switch (call->op.attr.form) {
    case NORM_RELU:
    case NORM_RELU_MAX_POOL:
        return relu(y);
    case NORM_ADD_RELU:
        return relu(y + call->in[NORM_SIDE][i]);
    case NORM_DUAL_ADD_RELU:
        return relu(y + ref_norm_at(call, 1, s->mean[1], s->invstd[1], i));
    default:
        return y;
    }
}

/* The pool after a norm, as OP_MAX_POOL. */
static void pool_outputs(const struct ref_call *call, const struct norm_statistics *s) {
    const struct shape *x = &call->in_shape[NORM_X], *y = &call->out_shape[NORM_Y];
    const struct op_window *window = &call->op.attr.window;
    for (int64_t i = 0; i < shape_count(y); i++) {
        int64_t c = i % y->dim[3], q = i / y->dim[3] % y->dim[2];
        int64_t p = i / y->dim[3] / y->dim[2] % y->dim[1],
                n = i / y->dim[3] / y->dim[2] / y->dim[1];
        bool first = true;
        for (int tap = 0; tap < window->kernel * window->kernel; tap++) {
            int64_t row = p * window->stride - window->pad + tap / window->kernel;
            int64_t column = q * window->stride - window->pad + tap % window->kernel;
            if (row < 0 || row >= x->dim[1] || column < 0 || column >= x->dim[2])
                continue;
            int64_t at = ((n * x->dim[1] + row) * x->dim[2] + column) * x->dim[3] + c;
            double value = output_at(call, s, at);
            if (first || pool_exceeds(value, call->out[NORM_Y][i])) {
                call->out[NORM_Y][i] = value;
                call->out[NORM_POOL_INDEX][i] = tap;
            }
            first = false;
        }
    }
}

int ref_batch_norm(const struct ref_call *call, struct error *err) {
    (void)err;
    bool pooled = call->op.attr.form == NORM_RELU_MAX_POOL;
    bool dual = call->op.attr.form == NORM_DUAL_ADD_RELU;
    struct norm_statistics s = {
        {call->out[NORM_SAVED_MEAN], dual ? call->out[NORM_SAVED_MEAN2] : NULL},
        {call->out[NORM_SAVED_INVSTD], call->out[NORM_SAVED_INVSTD2]}};
    for (int which = 0; which < (dual ? 2 : 1); which++)
        norm_statistics(call, which, s.mean[which], s.invstd[which]);
    if (pooled) {
        pool_outputs(call, &s);
        return 0;
    }
    int64_t count = shape_count(&call->in_shape[NORM_X]);
    for (int64_t i = 0; i < count; i++)
        call->out[NORM_Y][i] = output_at(call, &s, i);
    return 0;
}

int ref_batch_norm_inference(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t count = shape_count(&call->in_shape[NORM_X]);
    int64_t channels = call->in_shape[NORM_X].dim[3];
    struct norm_statistics s = {{call->in[NORM_MEAN], call->in[NORM_MEAN2]},
                                {call->in[NORM_VARIANCE], call->in[NORM_VARIANCE2]}};
    /* The arrays in call->in are this call's own copies: the variance becomes 1 / deviation in
     * place. */
    for (int which = 0; which < 2; which++)
        for (int64_t c = 0; s.invstd[which] != NULL && c < channels; c++)
            s.invstd[which][c] = 1.0 / sqrt(s.invstd[which][c] + call->op.attr.epsilon);
    for (int64_t i = 0; i < count; i++)
        call->out[NORM_Y][i] = output_at(call, &s, i);
    return 0;
}
