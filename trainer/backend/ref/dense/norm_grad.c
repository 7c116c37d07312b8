#include "trainer/backend/ref/base/body.h"
#include "trainer/math/relu.h"

#include <math.h>
#include <string.h>

/* Slots of one of the (up to) two norms. */
struct norm {
    const double *x, *gamma, *beta, *mean, *invstd;
    double *dgamma, *dbeta;
    int64_t rows, channels;
};

static struct norm norm_of(const struct ref_call *call, bool second) {
    const struct shape *x = &call->in_shape[NORM_GRAD_X];
    struct norm norm = {.channels = x->dim[3], .rows = shape_count(x) / x->dim[3]};
    norm.x = call->in[second ? NORM_GRAD_SIDE : NORM_GRAD_X];
    norm.gamma = call->in[second ? NORM_GRAD_GAMMA2 : NORM_GRAD_GAMMA];
    norm.beta = call->in[second ? NORM_GRAD_BETA2 : NORM_GRAD_BETA];
    norm.mean = call->in[second ? NORM_GRAD_MEAN2 : NORM_GRAD_MEAN];
    norm.invstd = call->in[second ? NORM_GRAD_INVSTD2 : NORM_GRAD_INVSTD];
    norm.dgamma = call->out[second ? NORM_GRAD_DGAMMA2 : NORM_GRAD_DGAMMA];
    norm.dbeta = call->out[second ? NORM_GRAD_DBETA2 : NORM_GRAD_DBETA];
    return norm;
}

static double hat(const struct norm *norm, int64_t i) {
    int64_t c = i % norm->channels;
    return (norm->x[i] - norm->mean[c]) * norm->invstd[c];
}

/* G is the gradient of the norm's output: computes dgamma and dbeta, writes dx, which may be G.
 * Ioffe and Szegedy 2015, section 3. */
static void norm_backward(const struct norm *norm, const double *g, double *dx) {
    int64_t count = norm->rows * norm->channels;
    memset(norm->dgamma, 0, (size_t)norm->channels * sizeof(double));
    memset(norm->dbeta, 0, (size_t)norm->channels * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        norm->dgamma[i % norm->channels] += g[i] * hat(norm, i);
        norm->dbeta[i % norm->channels] += g[i];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i % norm->channels;
        double mean = (norm->dbeta[c] + hat(norm, i) * norm->dgamma[c]) / (double)norm->rows;
        dx[i] = norm->gamma[c] * norm->invstd[c] * (g[i] - mean);
    }
}

/* The output may have had two users. */
static double incoming(const struct ref_call *call, int64_t i) {
    double dy = call->in[NORM_GRAD_DY][i];
    return call->in[NORM_GRAD_DY2] == NULL ? dy : dy + call->in[NORM_GRAD_DY2][i];
}

/* Scatters the pool's gradient by its index; G starts at zero. */
static void scatter_pool(const struct ref_call *call, double *g) {
    const struct shape *x = &call->in_shape[NORM_GRAD_X], *y = &call->in_shape[NORM_GRAD_DY];
    const struct op_window *window = &call->op.attr.window;
    for (int64_t i = 0; i < shape_count(y); i++) {
        int64_t c = i % y->dim[3], q = i / y->dim[3] % y->dim[2];
        int64_t p = i / y->dim[3] / y->dim[2] % y->dim[1],
                n = i / y->dim[3] / y->dim[2] / y->dim[1];
        int tap = (int)call->in[NORM_GRAD_Y][i];
        int64_t row = p * window->stride - window->pad + tap / window->kernel;
        int64_t column = q * window->stride - window->pad + tap % window->kernel;
        g[((n * x->dim[1] + row) * x->dim[2] + column) * x->dim[3] + c] += incoming(call, i);
    }
}

/* Computes the gradient before the ReLU, in G. */
static void masked_gradient(const struct ref_call *call, const struct norm *norm, double *g) {
    int64_t count = norm->rows * norm->channels;
    enum norm_form form = call->op.attr.form;
    if (form == NORM_RELU_MAX_POOL)
        scatter_pool(call, g);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i % norm->channels;
        if (form != NORM_RELU_MAX_POOL)
            g[i] = incoming(call, i);
        bool closed = false;
        if (form == NORM_ADD_RELU || form == NORM_DUAL_ADD_RELU)
            closed = !relu_passes(call->in[NORM_GRAD_Y][i]);
        else if (form != NORM_PLAIN)
            closed = !relu_passes(norm->gamma[c] * (norm->x[i] - norm->mean[c]) * norm->invstd[c] +
                                  norm->beta[c]);
        if (closed)
            g[i] = 0;
    }
}

/* DX holds the masked gradient until the last call, which overwrites it. */
int ref_batch_norm_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    struct norm norm = norm_of(call, false);
    double *g = call->out[NORM_GRAD_DX];
    size_t bytes = (size_t)(norm.rows * norm.channels) * sizeof(double);
    memset(g, 0, bytes);
    masked_gradient(call, &norm, g);
    if (call->op.attr.form == NORM_ADD_RELU)
        memcpy(call->out[NORM_GRAD_DSIDE], g, bytes);
    if (call->op.attr.form == NORM_DUAL_ADD_RELU) {
        struct norm second = norm_of(call, true);
        norm_backward(&second, g, call->out[NORM_GRAD_DSIDE]);
    }
    norm_backward(&norm, g, g);
    return 0;
}

/* Statistics are constants, so the gradient is a scale per channel. */
int ref_frozen_norm_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const double *y = call->in[FROZEN_GRAD_Y], *gamma2 = call->in[FROZEN_GRAD_GAMMA2];
    double *dside = call->out[FROZEN_GRAD_DSIDE], epsilon = call->op.attr.epsilon;
    int64_t channels = call->in_shape[FROZEN_GRAD_GAMMA].dim[0];
    for (int64_t i = 0; i < shape_count(&call->in_shape[FROZEN_GRAD_DY]); i++) {
        int64_t c = i % channels;
        double g = y == NULL || relu_passes(y[i]) ? call->in[FROZEN_GRAD_DY][i] : 0;
        call->out[FROZEN_GRAD_DX][i] =
            g * call->in[FROZEN_GRAD_GAMMA][c] / sqrt(call->in[FROZEN_GRAD_VARIANCE][c] + epsilon);
        if (dside == NULL)
            continue;
        dside[i] =
            gamma2 == NULL ? g : g * gamma2[c] / sqrt(call->in[FROZEN_GRAD_VARIANCE2][c] + epsilon);
    }
    return 0;
}
