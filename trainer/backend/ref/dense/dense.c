#include "trainer/backend/ref/base/body.h"
#include "trainer/math/dropout.h"
#include "trainer/math/relu.h"

/* Each body is the definition of its operator, in the most direct loops: backends are tested
 * against them, and a reader should see the formula. ref.c has converted all inputs to double, set
 * the outputs to zero and rounds them to their types afterwards; so bodies may add to an output at
 * once, and none keeps state. None of them can fail.
 *
 * Convolutions, norms, pools and losses have files of their own in this folder. */

/* Bytes of a picture to [0, 1], then by mean and deviation. The result may have more channels than
 * the three colours; the further ones stay 0. */
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

/* Formulas are rows of math/pointwise.h, which all backends share. The default serves no kind: the
 * table in ref.c calls this body for pointwise operators alone. */
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

/* An element's number depends on its sample's key, the layer and its position, so that every
 * backend drops the same elements. Numbers come in blocks of RANDOM_BLOCK. The gradient is the same
 * operator on dy. */
int ref_dropout(const struct ref_call *call, struct error *err) {
    (void)err;
    const int64_t samples = call->in_shape[0].dim[0];
    const int64_t count = shape_count(&call->in_shape[0]) / samples;
    const uint32_t bound = dropout_bound(call->op.attr.rate);
    const double scale = 1 / (1 - call->op.attr.rate);
    for (int64_t n = 0; n < samples; n++) {
        int32_t key[SAMPLE_KEY_WORDS];
        for (int i = 0; i < SAMPLE_KEY_WORDS; i++)
            key[i] = (int32_t)call->in[1][n * SAMPLE_KEY_WORDS + i];
        for (int64_t i = 0; i < count; i++) {
            uint32_t numbers[RANDOM_BLOCK];
            dropout_numbers(key, call->op.attr.layer, (uint32_t)(i / RANDOM_BLOCK), numbers);
            call->out[0][n * count + i] =
                call->in[0][n * count + i] * (numbers[i % RANDOM_BLOCK] < bound ? 0 : scale);
        }
    }
    return 0;
}

/* The bias of the last dimension, with a fused ReLU if asked for. */
int ref_bias(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t channels = call->in_shape[1].dim[0];
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++) {
        double y = call->in[0][i] + call->in[1][i % channels];
        call->out[0][i] = call->op.attr.relu ? relu(y) : y;
    }
    return 0;
}

/* Sums over all rows, in double. */
int ref_bias_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t channels = call->out_shape[0].dim[0];
    for (int64_t i = 0; i < shape_count(&call->in_shape[0]); i++)
        call->out[0][i % channels] += call->in[0][i];
    return 0;
}

/* Returns the element of a tensor of half the height and width under element I of a tensor of
 * SHAPE. */
static int64_t halved(const struct shape *shape, int64_t i) {
    int64_t c = i % shape->dim[3], q = i / shape->dim[3] % shape->dim[2];
    int64_t row = i / shape->dim[3] / shape->dim[2]; /* of all pictures: their heights are even */
    return (row / 2 * (shape->dim[2] / 2) + q / 2) * shape->dim[3] + c;
}

/* Doubles height and width by repetition and adds: the step from a level of a feature pyramid to
 * the finer one. */
int ref_upsample_add(const struct ref_call *call, struct error *err) {
    (void)err;
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++)
        call->out[0][i] = call->in[0][i] + call->in[1][halved(&call->out_shape[0], i)];
    return 0;
}

/* Four elements of dy add to one of dx; the other input's gradient is dy itself. */
int ref_upsample_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    for (int64_t i = 0; i < shape_count(&call->in_shape[0]); i++)
        call->out[0][halved(&call->in_shape[0], i)] += call->in[0][i];
    return 0;
}

/* Weights are rounded to the activations' type first, as products on devices read them in it. The
 * bias is not. */
int ref_linear(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    int64_t outputs = call->in_shape[1].dim[0], inputs = shape_count(&call->in_shape[1]) / outputs;
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++) {
        int64_t n = i / outputs, o = i % outputs;
        double sum = call->in[2][o];
        for (int64_t k = 0; k < inputs; k++)
            sum += call->in[0][n * inputs + k] * call->in[1][o * inputs + k];
        call->out[0][i] = call->op.attr.relu ? relu(sum) : sum;
    }
    return 0;
}

/* dx = dy w. The length of a row of x is taken from the weights, as x may have more than two
 * dimensions. */
int ref_linear_grad_data(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    int64_t outputs = call->in_shape[1].dim[0], inputs = shape_count(&call->in_shape[1]) / outputs;
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++)
        for (int64_t o = 0; o < outputs; o++)
            call->out[0][i] +=
                call->in[0][i / inputs * outputs + o] * call->in[1][o * inputs + i % inputs];
    return 0;
}

/* dw = dy' x and db, the sum of dy. Master weights are not needed, so nothing is rounded. */
int ref_linear_grad_weight(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t outputs = call->out_shape[0].dim[0],
            inputs = shape_count(&call->out_shape[0]) / outputs;
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

/* Copies CHANNELS channels of each row. */
static void copy_channels(const double *from, int64_t from_channels, double *to,
                          int64_t to_channels, int64_t channels, int64_t rows) {
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < channels; c++)
            to[row * to_channels + c] = from[row * from_channels + c];
}

static int64_t last_of(const struct shape *shape) {
    return shape->dim[shape->rank - 1];
}

/* Inputs side by side in the last dimension; the list ends with the first absent input. */
int ref_concat(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *y = &call->out_shape[0];
    const int64_t rows = shape_count(y) / last_of(y);
    int64_t first = 0;
    for (int i = 0; i < CONCAT_INPUTS && call->in[i] != NULL; i++) {
        const int64_t channels = last_of(&call->in_shape[i]);
        copy_channels(call->in[i], channels, call->out[0] + first, last_of(y), channels, rows);
        first += channels;
    }
    return 0;
}

/* A range of the last dimension: the inverse of ref_concat() for one input, and its gradient. */
int ref_channels(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[0], *y = &call->out_shape[0];
    copy_channels(call->in[0] + call->op.attr.channel, last_of(x), call->out[0], last_of(y),
                  last_of(y), shape_count(y) / last_of(y));
    return 0;
}
