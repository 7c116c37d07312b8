/* Convolutions with the norms around them: composed of the plain bodies. Inputs are this call's
 * own copies, so a prologue may work in place. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/base/value.h"
#include "trainer/math/relu.h"

#include <math.h>

/* relu(x * scale + bias [+ side [* scale2 + bias2]]) at element I, rounded as an activation. */
static double normalized(const struct ref_call *call, const double *x, const double *scale,
                         const double *bias, int64_t i, int64_t channels) {
    int64_t c = i % channels;
    double value = x[i] * scale[c] + bias[c];
    enum op_kind kind = call->op.kind;
    if (kind == OP_JOIN_CONV2D_STATS || kind == OP_JOIN_APPLY_RELU)
        value += call->in[FUSED_CONV_SIDE][i];
    if (kind == OP_DUAL_JOIN_CONV2D_STATS || kind == OP_DUAL_JOIN_APPLY_RELU)
        value += call->in[FUSED_CONV_SIDE][i] * call->in[FUSED_CONV_SCALE2][c] +
                 call->in[FUSED_CONV_BIAS2][c];
    return relu(ref_round(call->dtype, value));
}

/* TO may be x. */
static void prologue(const struct ref_call *call, double *to) {
    const struct shape *x = &call->in_shape[FUSED_CONV_X];
    for (int64_t i = 0; i < shape_count(x); i++)
        to[i] = normalized(call, call->in[FUSED_CONV_X], call->in[FUSED_CONV_SCALE],
                           call->in[FUSED_CONV_BIAS], i, x->dim[3]);
}

int ref_norm_apply(const struct ref_call *call, struct error *err) {
    (void)err;
    prologue(call, call->out[0]);
    return 0;
}

/* The input is normalized in place, then convolved; the join is kept if it has another user. Sums
 * are those of the output's values before they are rounded. */
int ref_fused_conv2d(const struct ref_call *call, struct error *err) {
    double *x = call->in[FUSED_CONV_X];
    if (call->op.kind != OP_CONV2D_STATS)
        prologue(call, x);
    for (int64_t i = 0;
         call->out[FUSED_CONV_JOIN] != NULL && i < shape_count(&call->in_shape[FUSED_CONV_X]); i++)
        call->out[FUSED_CONV_JOIN][i] = x[i];
    if (ref_conv2d(call, err) != 0)
        return -1;
    int64_t channels = call->out_shape[FUSED_CONV_Y].dim[3];
    for (int64_t i = 0; i < shape_count(&call->out_shape[FUSED_CONV_Y]); i++) {
        double y = call->out[FUSED_CONV_Y][i];
        call->out[FUSED_CONV_SUM][i % channels] += y;
        call->out[FUSED_CONV_SQUARE_SUM][i % channels] += y * y;
    }
    return 0;
}

/* A variance from sums of squares can be slightly negative. */
int ref_norm_finalize(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t channels = call->op.attr.target.dim[3];
    int64_t rows = shape_count(&call->op.attr.target) / channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = call->in[NORM_FINALIZE_SUM][c] / (double)rows;
        double variance = call->in[NORM_FINALIZE_SQUARE_SUM][c] / (double)rows - mean * mean;
        variance = relu(variance);
        double invstd = 1.0 / sqrt(variance + call->op.attr.epsilon);
        double scale = call->in[NORM_FINALIZE_GAMMA][c] * invstd;
        ref_move_running(&call->op.attr, mean, variance, rows, &call->in[NORM_FINALIZE_MEAN][c],
                         &call->in[NORM_FINALIZE_VARIANCE][c]);
        call->out[NORM_FINALIZE_SAVED_MEAN][c] = mean;
        call->out[NORM_FINALIZE_SAVED_INVSTD][c] = invstd;
        call->out[NORM_FINALIZE_SCALE][c] = scale;
        call->out[NORM_FINALIZE_BIAS][c] = call->in[NORM_FINALIZE_BETA][c] - mean * scale;
    }
    return 0;
}

/* Recomputes the convolution's input. */
int ref_norm_conv2d_grad_weight(const struct ref_call *call, struct error *err) {
    const struct shape *x = &call->in_shape[1];
    for (int64_t i = 0; i < shape_count(x); i++)
        call->in[1][i] = normalized(call, call->in[1], call->in[2], call->in[3], i, x->dim[3]);
    return ref_conv2d_grad_weight(call, err);
}

/* Multiplies each output's ROW weights by gamma / sqrt(variance + epsilon), if there is a gamma. */
static void scale_outputs(const struct ref_call *call, const struct shape *shape, double *w,
                          const double *gamma, const double *variance) {
    int64_t row = shape_count(shape) / shape->dim[0];
    for (int64_t i = 0; gamma != NULL && i < shape_count(shape); i++)
        w[i] *= gamma[i / row] / sqrt(variance[i / row] + call->op.attr.epsilon);
}

/* Weights take the norm's scale before the convolution, which then needs a bias only. Without a
 * norm the bias is an operand. */
int ref_conv2d_affine(const struct ref_call *call, struct error *err) {
    const double *gamma = call->in[AFFINE_GAMMA], *side = call->in[AFFINE_SIDE];
    int64_t channels = call->out_shape[0].dim[3];
    double *y = call->out[0];
    scale_outputs(call, &call->in_shape[AFFINE_W], call->in[AFFINE_W], gamma,
                  call->in[AFFINE_VARIANCE]);
    if (ref_conv2d(call, err) != 0)
        return -1;
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++) {
        int64_t c = i % channels;
        if (gamma == NULL)
            y[i] += call->in[AFFINE_BIAS][c];
        else
            y[i] += call->in[AFFINE_BETA][c] -
                    call->in[AFFINE_MEAN][c] * gamma[c] /
                        sqrt(call->in[AFFINE_VARIANCE][c] + call->op.attr.epsilon);
        y[i] += side == NULL ? 0 : side[i];
        y[i] = call->op.attr.relu ? relu(y[i]) : y[i];
    }
    return 0;
}

/* As a convolution of scaled weights; dbias is the sum of what the mask has left. */
int ref_conv2d_grad_data_affine(const struct ref_call *call, struct error *err) {
    const double *y = call->in[AFFINE_GRAD_Y], *shortcut = call->in[AFFINE_GRAD_SHORTCUT];
    double *g = call->out[AFFINE_GRAD_G], *dbias = call->out[AFFINE_GRAD_DBIAS];
    int64_t channels = call->out_shape[AFFINE_GRAD_G].dim[3];
    scale_outputs(call, &call->in_shape[AFFINE_GRAD_W], call->in[AFFINE_GRAD_W],
                  call->in[AFFINE_GRAD_GAMMA], call->in[AFFINE_GRAD_VARIANCE]);
    if (ref_conv2d_grad_data(call, err) != 0)
        return -1;
    for (int64_t i = 0; i < shape_count(&call->out_shape[AFFINE_GRAD_G]); i++) {
        g[i] += shortcut == NULL ? 0 : shortcut[i];
        if (y != NULL && !relu_passes(y[i]))
            g[i] = 0;
        if (dbias != NULL)
            dbias[i % channels] += g[i];
    }
    return 0;
}

/* The gradient of W is that of the scaled weights, times the scale. */
int ref_conv2d_grad_weight_affine(const struct ref_call *call, struct error *err) {
    if (ref_conv2d_grad_weight(call, err) != 0)
        return -1;
    scale_outputs(call, &call->out_shape[0], call->out[0], call->in[2], call->in[3]);
    return 0;
}
