#include "trainer/backend/ref/base/body.h"
#include "trainer/math/softmax_loss.h"

#include <inttypes.h>

/* Softmax cross entropy. Samples of weight 0 only fill a batch up, and their labels are not read.
 * Labels of others are checked here, so that a wrong one is an error and not a read beyond the
 * logits. */

static int check_label(double label, int64_t sample, int classes, struct error *err) {
    if (label >= 0 && label < classes)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "label %.0f of sample %" PRId64 " is not below %d", label,
                     sample, classes);
}

/* Metrics are weighted sums; a mean is one of them divided by LOSS_WEIGHT. */
int ref_softmax_cross_entropy(const struct ref_call *call, struct error *err) {
    int classes = (int)call->in_shape[0].dim[1];
    double *metrics = call->out[0];
    for (int64_t n = 0; n < call->in_shape[0].dim[0]; n++) {
        double weight = call->in[2][n];
        if (weight == 0)
            continue;
        if (check_label(call->in[1][n], n, classes, err) != 0)
            return -1;
        const double *logits = call->in[0] + n * classes;
        int label = (int)call->in[1][n];
        int before = 0;
        for (int k = 0; k < classes; k++)
            before += softmax_before(logits[k], logits[label], k, label);
        metrics[LOSS_SUM] +=
            weight * softmax_loss(logits, classes, label, call->op.attr.label_smoothing);
        metrics[LOSS_TOP1] += softmax_among(before, 1, classes) ? weight : 0;
        metrics[LOSS_TOP5] += softmax_among(before, 5, classes) ? weight : 0;
        metrics[LOSS_WEIGHT] += weight;
    }
    return 0;
}

int ref_softmax_cross_entropy_grad(const struct ref_call *call, struct error *err) {
    int classes = (int)call->in_shape[0].dim[1];
    for (int64_t n = 0; n < call->in_shape[0].dim[0]; n++) {
        double weight = call->in[2][n];
        if (weight == 0)
            continue;
        if (check_label(call->in[1][n], n, classes, err) != 0)
            return -1;
        const double *logits = call->in[0] + n * classes;
        double log_sum = softmax_log_sum(logits, classes);
        for (int k = 0; k < classes; k++)
            call->out[0][n * classes + k] =
                call->op.attr.gradient_scale * weight *
                softmax_loss_gradient(logits, classes, (int)call->in[1][n],
                                      call->op.attr.label_smoothing, log_sum, k);
    }
    return 0;
}
