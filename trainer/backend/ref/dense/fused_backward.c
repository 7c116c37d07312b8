/* Backward pass of a 1x1 convolution before a norm: composed of the three bodies that it replaces.
 * Inputs are this call's own copies, so they can be modified. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/base/value.h"
#include "trainer/math/relu.h"

#include "common/cleanup.h"

#include <stdlib.h>

/* The gradient through the norm after the convolution, rounded as an activation. */
static int apply(const struct ref_call *call, double *dz, struct error *err) {
    struct ref_call part = {.op = call->op, .dtype = call->dtype};
    part.op.kind = OP_NORM_GRAD_APPLY;
    for (int i = 0; i < 3; i++) {
        part.in[i] = call->in[CONV_BACKWARD_G + i];
        part.in_shape[i] = call->in_shape[CONV_BACKWARD_G + i];
    }
    part.out[0] = dz;
    part.out_shape[0] = part.in_shape[0];
    if (ref_norm_grad_apply(&part, err) != 0)
        return -1;
    for (int64_t i = 0; i < shape_count(&part.in_shape[0]); i++)
        dz[i] = ref_round(call->dtype, dz[i]);
    return 0;
}

/* A norm precedes the convolution, and y is recomputed from it. */
static int gradient_into_norm(const struct ref_call *call, double *dz, struct error *err) {
    struct ref_call part = {.op = call->op, .dtype = call->dtype};
    part.op.kind = OP_CONV2D_GRAD_DATA_NORM;
    part.in[GRAD_DATA_NORM_DY] = dz;
    part.in_shape[GRAD_DATA_NORM_DY] = call->in_shape[CONV_BACKWARD_G];
    part.in[GRAD_DATA_NORM_W] = call->in[CONV_BACKWARD_W];
    part.in_shape[GRAD_DATA_NORM_W] = call->in_shape[CONV_BACKWARD_W];
    part.in[GRAD_DATA_NORM_X] = call->in[CONV_BACKWARD_X];
    part.in_shape[GRAD_DATA_NORM_X] = call->in_shape[CONV_BACKWARD_X];
    for (int i = 0; i < 4; i++) {
        part.in[GRAD_DATA_NORM_GAMMA + i] = call->in[CONV_BACKWARD_GAMMA + i];
        part.in_shape[GRAD_DATA_NORM_GAMMA + i] = call->in_shape[CONV_BACKWARD_GAMMA + i];
        part.out[GRAD_DATA_NORM_G + i] = call->out[CONV_BACKWARD_DX + i];
        part.out_shape[GRAD_DATA_NORM_G + i] = call->out_shape[CONV_BACKWARD_DX + i];
    }
    return ref_conv2d_grad_data_norm(&part, err);
}

static int plain_gradient(const struct ref_call *call, double *dz, struct error *err) {
    struct ref_call part = {.op = call->op, .dtype = call->dtype};
    part.op.kind = OP_CONV2D_GRAD_DATA;
    part.in[0] = dz;
    part.in_shape[0] = call->in_shape[CONV_BACKWARD_G];
    part.in[1] = call->in[CONV_BACKWARD_W];
    part.in_shape[1] = call->in_shape[CONV_BACKWARD_W];
    part.out[0] = call->out[CONV_BACKWARD_DX];
    part.out_shape[0] = call->out_shape[CONV_BACKWARD_DX];
    return ref_conv2d_grad_data(&part, err);
}

/* y itself gives the mask of its ReLU. */
static int gradient_into_join(const struct ref_call *call, double *dz, struct error *err) {
    const struct shape *shape = &call->out_shape[CONV_BACKWARD_DX];
    const double *y = call->in[CONV_BACKWARD_Y], *shortcut = call->in[CONV_BACKWARD_SHORTCUT];
    double *dx = call->out[CONV_BACKWARD_DX];
    const struct ref_norm norm = {.x = call->in[CONV_BACKWARD_X],
                                  .gamma = call->in[CONV_BACKWARD_GAMMA],
                                  .mean = call->in[CONV_BACKWARD_MEAN],
                                  .invstd = call->in[CONV_BACKWARD_INVSTD],
                                  .dgamma = call->out[CONV_BACKWARD_DGAMMA],
                                  .dbeta = call->out[CONV_BACKWARD_DBETA],
                                  .coefficients = call->out[CONV_BACKWARD_DX_COEFFICIENTS]};
    if (plain_gradient(call, dz, err) != 0)
        return -1;
    for (int64_t i = 0; i < shape_count(shape); i++)
        dx[i] = relu_passes(y[i]) ? dx[i] + shortcut[i] : 0;
    ref_norm_reduce(&norm, dx, shape_count(shape), shape->dim[3]);
    return 0;
}

/* After a join the convolution's input is y, as it was stored; after a norm it is computed
 * again. */
static int weight_gradient(const struct ref_call *call, double *dz, struct error *err) {
    bool norm = call->op.kind == OP_CONV2D_BACKWARD_NORM;
    struct ref_call part = {.op = call->op, .dtype = call->dtype};
    part.op.kind = norm ? OP_NORM_CONV2D_GRAD_WEIGHT : OP_CONV2D_GRAD_WEIGHT;
    part.op.attr.target = call->out_shape[CONV_BACKWARD_DW];
    part.in[0] = dz;
    part.in_shape[0] = call->in_shape[CONV_BACKWARD_G];
    for (int i = 0; i < (norm ? 3 : 1); i++) {
        int slot = norm ? CONV_BACKWARD_X + i : CONV_BACKWARD_Y;
        part.in[1 + i] = call->in[slot];
        part.in_shape[1 + i] = call->in_shape[slot];
    }
    part.out[0] = call->out[CONV_BACKWARD_DW];
    part.out_shape[0] = call->out_shape[CONV_BACKWARD_DW];
    return norm ? ref_norm_conv2d_grad_weight(&part, err) : ref_conv2d_grad_weight(&part, err);
}

/* Weights come last, as computing the input again overwrites x. */
int ref_conv2d_backward(const struct ref_call *call, struct error *err) {
    size_t count = (size_t)shape_count(&call->in_shape[CONV_BACKWARD_G]);
    cleanup_free double *dz = calloc(count + 1, sizeof(*dz));
    int (*data_gradient)(const struct ref_call *call, double *dz, struct error *err) =
        call->op.kind == OP_CONV2D_BACKWARD_NORM   ? gradient_into_norm
        : call->op.kind == OP_CONV2D_BACKWARD_JOIN ? gradient_into_join
                                                   : plain_gradient;
    if (dz == NULL)
        return error_no_memory(err, call->op.name);
    if (apply(call, dz, err) != 0 || data_gradient(call, dz, err) != 0)
        return -1;
    return weight_gradient(call, dz, err);
}
