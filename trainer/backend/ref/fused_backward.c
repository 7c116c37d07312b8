/* The backward pass of a 1x1 convolution between two norms: composed of the three bodies that it
 * stands for. Inputs are this call's own copies, so what works on them in place may. */
#include "ref/body.h"
#include "ref/value.h"

#include "common/cleanup.h"

#include <stdlib.h>

/* The gradient behind the norm behind, as an activation holds it. */
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

static int data_gradient(const struct ref_call *call, double *dz, struct error *err) {
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

static int weight_gradient(const struct ref_call *call, double *dz, struct error *err) {
    struct ref_call part = {.op = call->op, .dtype = call->dtype};
    part.op.kind = OP_NORM_CONV2D_GRAD_WEIGHT;
    part.op.attr.target = call->out_shape[CONV_BACKWARD_DW];
    part.in[0] = dz;
    part.in_shape[0] = call->in_shape[CONV_BACKWARD_G];
    for (int i = 0; i < 3; i++) {
        part.in[1 + i] = call->in[CONV_BACKWARD_X + i];
        part.in_shape[1 + i] = call->in_shape[CONV_BACKWARD_X + i];
    }
    part.out[0] = call->out[CONV_BACKWARD_DW];
    part.out_shape[0] = call->out_shape[CONV_BACKWARD_DW];
    return ref_norm_conv2d_grad_weight(&part, err);
}

int ref_conv2d_backward_norm(const struct ref_call *call, struct error *err) {
    size_t count = (size_t)shape_count(&call->in_shape[CONV_BACKWARD_G]);
    cleanup_free double *dz = calloc(count + 1, sizeof(*dz));
    if (dz == NULL)
        return error_no_memory(err, call->op.name);
    if (apply(call, dz, err) != 0 || data_gradient(call, dz, err) != 0)
        return -1;
    return weight_gradient(call, dz, err);
}
