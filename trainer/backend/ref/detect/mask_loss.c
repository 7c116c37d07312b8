/* Loss of the mask head. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/math/detect_loss.h"

/* Returns the number of values in the rows that count. */
static int64_t counted(const struct ref_call *call) {
    const struct shape *logits = &call->in_shape[MASK_LOSS_LOGITS];
    return (int64_t)call->in[MASK_LOSS_ROWS][0] * logits->dim[1] * logits->dim[2];
}

int ref_mask_loss(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t count = counted(call);
    for (int64_t i = 0; i < count; i++)
        call->out[MASK_LOSS_VALUE][0] +=
            logit_loss(call->in[MASK_LOSS_LOGITS][i], call->in[MASK_LOSS_T][i]) / (double)count;
    return 0;
}

int ref_mask_loss_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    int64_t count = counted(call);
    double share = call->op.attr.gradient_scale / (double)count;
    for (int64_t i = 0; i < count; i++)
        call->out[MASK_LOSS_GRAD_DLOGITS][i] =
            logit_loss_gradient(call->in[MASK_LOSS_LOGITS][i], call->in[MASK_LOSS_T][i]) * share;
    return 0;
}
