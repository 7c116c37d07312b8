#include "trainer/backend/ref/base/body.h"
#include "trainer/math/relu.h"

/* Returns one of the (up to) two norms before the convolution. */
static struct ref_norm norm_of(const struct ref_call *call, bool second) {
    struct ref_norm norm;
    norm.x = call->in[second ? GRAD_DATA_NORM_SIDE : GRAD_DATA_NORM_X];
    int slot = second ? GRAD_DATA_NORM_GAMMA2 : GRAD_DATA_NORM_GAMMA;
    norm.gamma = call->in[slot];
    norm.beta = call->in[slot + 1];
    norm.mean = call->in[slot + 2];
    norm.invstd = call->in[slot + 3];
    slot = second ? GRAD_DATA_NORM_DGAMMA2 : GRAD_DATA_NORM_DGAMMA;
    norm.dgamma = call->out[slot];
    norm.dbeta = call->out[slot + 1];
    norm.coefficients = call->out[slot + 2];
    return norm;
}

/* The normalized value, before gamma and beta. */
static double hat(const struct ref_norm *norm, int64_t i, int64_t c) {
    return (norm->x[i] - norm->mean[c]) * norm->invstd[c];
}

static double norm_value(const struct ref_norm *norm, int64_t i, int64_t c) {
    return norm->gamma[c] * hat(norm, i, c) + norm->beta[c];
}

/* dx = gamma / deviation * (g - mean(g) - hat * mean(g * hat)), sorted by g, x and the rest. */
void ref_norm_reduce(const struct ref_norm *norm, const double *g, int64_t count,
                     int64_t channels) {
    double rows = (double)(count / channels);
    for (int64_t i = 0; i < count; i++) {
        norm->dgamma[i % channels] += g[i] * hat(norm, i, i % channels);
        norm->dbeta[i % channels] += g[i];
    }
    for (int64_t c = 0; c < channels; c++) {
        double of_g = norm->gamma[c] * norm->invstd[c];
        double of_x = -of_g * norm->invstd[c] * norm->dgamma[c] / rows;
        norm->coefficients[c] = of_g;
        norm->coefficients[channels + c] = of_x;
        norm->coefficients[2 * channels + c] = -of_g * norm->dbeta[c] / rows - of_x * norm->mean[c];
    }
}

/* The gradient that reaches the ReLU before the convolution: from the convolution, and from the
 * shortcut if the ReLU's output is also used there. Its mask is recomputed from the norm's
 * operands, since its output is not stored. */
int ref_conv2d_grad_data_norm(const struct ref_call *call, struct error *err) {
    bool join = call->op.kind == OP_CONV2D_GRAD_DATA_ADD_JOIN;
    bool dual = call->op.kind == OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN;
    const double *shortcut = call->in[GRAD_DATA_NORM_SHORTCUT];
    const double *side = call->in[GRAD_DATA_NORM_SIDE];
    int64_t count = shape_count(&call->op.attr.target), channels = call->op.attr.target.dim[3];
    struct ref_norm first = norm_of(call, false), second = norm_of(call, true);
    double *g = call->out[GRAD_DATA_NORM_G];
    if (ref_conv2d_grad_data(call, err) != 0)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        double before = norm_value(&first, i, i % channels);
        if (join)
            before += side[i];
        if (dual)
            before += norm_value(&second, i, i % channels);
        g[i] = relu_passes(before) ? g[i] + (shortcut == NULL ? 0 : shortcut[i]) : 0;
    }
    ref_norm_reduce(&first, g, count, channels);
    if (dual)
        ref_norm_reduce(&second, g, count, channels);
    return 0;
}

/* The last pass of a norm's gradient, with the coefficients of ref_norm_reduce(). */
int ref_norm_grad_apply(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t channels = call->in_shape[0].dim[3];
    const double *coefficients = call->in[2];
    for (int64_t i = 0; i < shape_count(&call->in_shape[0]); i++) {
        int64_t c = i % channels;
        call->out[0][i] = call->in[0][i] * coefficients[c] +
                          call->in[1][i] * coefficients[channels + c] +
                          coefficients[2 * channels + c];
    }
    return 0;
}
