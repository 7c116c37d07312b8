#include "ref/body.h"

int ref_image_normalize(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct op_attr *attr = &call->op.attr;
    int64_t pixels = shape_count(&call->in_shape[0]) / 3;
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int c = 0; c < 3; c++)
            call->out[0][pixel * attr->channels + c] =
                (call->in[0][pixel * 3 + c] / 255 - (double)attr->mean[c]) / (double)attr->std[c];
    return 0;
}

int ref_pointwise(const struct ref_call *call, struct error *err) {
    (void)err;
    const double *a = call->in[0], *b = call->in[1];
    double *y = call->out[0];
    int64_t count = shape_count(&call->out_shape[0]);
    switch (op_pointwise(call->op.kind)) {
#define CASE(kind, name, tensors, value)                                                           \
    case POINTWISE_##kind:                                                                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = pointwise_##name(a[i], tensors == 2 ? b[i] : 0);                                \
        return 0;
        POINTWISE(CASE)
    default:
        return 0;
    }
}

int ref_linear(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    int64_t inputs = call->in_shape[0].dim[1], outputs = call->out_shape[0].dim[1];
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++) {
        int64_t n = i / outputs, o = i % outputs;
        double sum = call->in[2][o];
        for (int64_t k = 0; k < inputs; k++)
            sum += call->in[0][n * inputs + k] * call->in[1][o * inputs + k];
        call->out[0][i] = sum;
    }
    return 0;
}

int ref_linear_grad_data(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    int64_t inputs = call->out_shape[0].dim[1], outputs = call->in_shape[0].dim[1];
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++)
        for (int64_t o = 0; o < outputs; o++)
            call->out[0][i] +=
                call->in[0][i / inputs * outputs + o] * call->in[1][o * inputs + i % inputs];
    return 0;
}

int ref_linear_grad_weight(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t inputs = call->in_shape[1].dim[1], outputs = call->in_shape[0].dim[1];
    for (int64_t n = 0; n < call->in_shape[0].dim[0]; n++) {
        for (int64_t o = 0; o < outputs; o++) {
            double dy = call->in[0][n * outputs + o];
            call->out[1][o] += dy;
            for (int64_t k = 0; k < inputs; k++)
                call->out[0][o * inputs + k] += dy * call->in[1][n * inputs + k];
        }
    }
    return 0;
}
