/* 1x1 convolution with one output channel per row. */
#include "trainer/backend/ref/base/body.h"

static int64_t pixels_of(const struct shape *shape) {
    return shape->dim[1] * shape->dim[2];
}

int ref_class_conv(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[CLASS_CONV_X];
    int64_t pixels = pixels_of(x), channels = x->dim[3];
    ref_round_weights(call);
    for (int64_t i = 0; i < x->dim[0] * pixels; i++) {
        int64_t label = (int64_t)call->in[CLASS_CONV_LABEL][i / pixels];
        if (label < 1)
            continue;
        double sum = call->in[CLASS_CONV_B][label];
        for (int64_t c = 0; c < channels; c++)
            sum += call->in[CLASS_CONV_X][i * channels + c] *
                   call->in[CLASS_CONV_W][label * channels + c];
        call->out[CLASS_CONV_Y][i] = sum;
    }
    return 0;
}

int ref_class_conv_grad_data(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->out_shape[0];
    int64_t pixels = pixels_of(x), channels = x->dim[3];
    ref_round_weights(call);
    for (int64_t i = 0; i < x->dim[0] * pixels; i++) {
        int64_t label = (int64_t)call->in[CLASS_CONV_GRAD_DATA_LABEL][i / pixels];
        for (int64_t c = 0; c < channels && label >= 1; c++)
            call->out[0][i * channels + c] = call->in[CLASS_CONV_GRAD_DATA_DY][i] *
                                             call->in[CLASS_CONV_GRAD_DATA_W][label * channels + c];
    }
    return 0;
}

int ref_class_conv_grad_weight(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[CLASS_CONV_GRAD_WEIGHT_X];
    int64_t pixels = pixels_of(x), channels = x->dim[3];
    for (int64_t i = 0; i < x->dim[0] * pixels; i++) {
        int64_t label = (int64_t)call->in[CLASS_CONV_GRAD_WEIGHT_LABEL][i / pixels];
        if (label < 1)
            continue;
        double dy = call->in[CLASS_CONV_GRAD_WEIGHT_DY][i];
        for (int64_t c = 0; c < channels; c++)
            call->out[CLASS_CONV_GRAD_WEIGHT_DW][label * channels + c] +=
                dy * call->in[CLASS_CONV_GRAD_WEIGHT_X][i * channels + c];
        call->out[CLASS_CONV_GRAD_WEIGHT_DB][label] += dy;
    }
    return 0;
}
