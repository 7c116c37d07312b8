/* Losses of the box head, and metrics of a training step. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/image_size.h"
#include "trainer/math/softmax_loss.h"

static int64_t rows_of(const struct ref_call *call) {
    return call->in_shape[BOX_LOSS_LOGITS].dim[0];
}

/* A negative label marks a slot without a region. */
static double sampled_of(const struct ref_call *call) {
    double sampled = 0;
    for (int64_t r = 0; r < rows_of(call); r++)
        sampled += call->in[BOX_LOSS_LABEL][r] >= 0;
    return sampled;
}

/* Returns the position of the label's deltas in row R, which has an object. */
static int64_t deltas_of(const struct ref_call *call, int64_t r) {
    return 4 * (r * call->in_shape[BOX_LOSS_LOGITS].dim[1] + (int64_t)call->in[BOX_LOSS_LABEL][r]);
}

/* The first of equal logits counts as the greatest. */
static bool is_right(const double *logits, int classes, int label) {
    int before = 0;
    for (int k = 0; k < classes; k++)
        before += softmax_before(logits[k], logits[label], k, label);
    return softmax_among(before, 1, classes);
}

/* Label 0 is the background. Only regions with an object have a box to compare, but the sum is
 * divided by all that were sampled. */
int ref_box_loss(const struct ref_call *call, struct error *err) {
    (void)err;
    int classes = (int)call->in_shape[BOX_LOSS_LOGITS].dim[1];
    double *values = call->out[BOX_LOSS_VALUES], sampled = sampled_of(call);
    for (int64_t r = 0; r < rows_of(call); r++) {
        const double *logits = call->in[BOX_LOSS_LOGITS] + r * classes;
        int label = (int)call->in[BOX_LOSS_LABEL][r];
        if (label < 0)
            continue;
        values[BOX_LOSS_CLASSIFIER] += softmax_loss(logits, classes, label, 0) / sampled;
        values[BOX_LOSS_ACCURACY] += is_right(logits, classes, label) ? 1 / sampled : 0;
        values[BOX_LOSS_POSITIVES] += label > 0;
        for (int i = 0; i < 4 && label > 0; i++) {
            double d = call->in[BOX_LOSS_DELTAS][deltas_of(call, r) + i] -
                       call->in[BOX_LOSS_TARGET][4 * r + i];
            values[BOX_LOSS_BOX_REG] += smooth_l1(d, (double)call->op.attr.detect.beta) / sampled;
        }
    }
    values[BOX_LOSS_SAMPLED] = sampled;
    return 0;
}

/* Deltas of other classes than the label's keep a gradient of zero. */
int ref_box_loss_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    int classes = (int)call->in_shape[BOX_LOSS_LOGITS].dim[1];
    double share = call->op.attr.gradient_scale / sampled_of(call);
    for (int64_t r = 0; r < rows_of(call); r++) {
        const double *logits = call->in[BOX_LOSS_LOGITS] + r * classes;
        int label = (int)call->in[BOX_LOSS_LABEL][r];
        if (label < 0)
            continue;
        double log_sum = softmax_log_sum(logits, classes);
        for (int k = 0; k < classes; k++)
            call->out[BOX_LOSS_GRAD_DLOGITS][r * classes + k] =
                softmax_loss_gradient(logits, classes, label, 0, log_sum, k) * share;
        for (int i = 0; i < 4 && label > 0; i++) {
            int64_t place = deltas_of(call, r) + i;
            double d = call->in[BOX_LOSS_DELTAS][place] - call->in[BOX_LOSS_TARGET][4 * r + i];
            call->out[BOX_LOSS_GRAD_DDELTAS][place] =
                smooth_l1_gradient(d, (double)call->op.attr.detect.beta) * share;
        }
    }
    return 0;
}

/* Means are multiplied by the number of valid pictures, so that sums over batches can be divided by
 * all pictures. */
int ref_total_loss(const struct ref_call *call, struct error *err) {
    (void)err;
    const double *rpn = call->in[TOTAL_LOSS_RPN], *box = call->in[TOTAL_LOSS_BOX];
    double *metrics = call->out[TOTAL_LOSS_METRICS], images = 0;
    for (int64_t n = 0; n < call->in_shape[TOTAL_LOSS_SIZE].dim[0]; n++)
        images += call->in[TOTAL_LOSS_SIZE][n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] != 0;
    metrics[DETECT_IMAGES] = images;
    metrics[DETECT_LOSS_CLASSIFIER] = images * box[BOX_LOSS_CLASSIFIER];
    metrics[DETECT_LOSS_BOX_REG] = images * box[BOX_LOSS_BOX_REG];
    metrics[DETECT_LOSS_MASK] = images * call->in[TOTAL_LOSS_MASK][0];
    metrics[DETECT_LOSS_OBJECTNESS] = images * rpn[RPN_LOSS_OBJECTNESS];
    metrics[DETECT_LOSS_RPN_BOX_REG] = images * rpn[RPN_LOSS_BOX];
    for (int i = DETECT_LOSS_CLASSIFIER; i <= DETECT_LOSS_RPN_BOX_REG; i++)
        metrics[DETECT_LOSS] += metrics[i];
    metrics[DETECT_ACCURACY] = images * box[BOX_LOSS_ACCURACY];
    metrics[DETECT_POSITIVES] = box[BOX_LOSS_POSITIVES];
    metrics[DETECT_RPN_POSITIVES] = rpn[RPN_LOSS_POSITIVES];
    return 0;
}
