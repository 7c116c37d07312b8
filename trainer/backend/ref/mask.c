/* What masks should be, and the mask head's loss. */
#include "common/cleanup.h"
#include "kernels/detect_loss.h"
#include "kernels/image_size.h"
#include "kernels/mask_bits.h"
#include "kernels/roi_axis.h"
#include "ref/body.h"
#include "ref/region.h"

#include <stdlib.h>

/* An object's mask in the resized picture. */
struct mask {
    int32_t at[MASK_FIELDS], size[IMAGE_SIZE_FIELDS];
    const uint8_t *pool;
};

static int pixel_of(const struct mask *m, int32_t y, int32_t x) {
    int32_t height = m->size[IMAGE_SIZE_SOURCE_H], width = m->size[IMAGE_SIZE_SOURCE_W];
    int32_t row = bilinear_nearest(y, bilinear_scale(height, m->size[IMAGE_SIZE_H]), height);
    int32_t column = bilinear_nearest(x, bilinear_scale(width, m->size[IMAGE_SIZE_W]), width);
    if (m->size[IMAGE_SIZE_FLIP] != 0)
        column = width - 1 - column;
    return mask_bits_get(m->pool, m->at, column, row);
}

static double bin_of(const struct mask *m, const struct roi_axis *y, const struct roi_axis *x,
                     int p, int q) {
    struct bilinear_tap row, column;
    double sum = 0;
    for (int i = 0; i < y->grid; i++)
        for (int k = 0; k < x->grid; k++) {
            if (!roi_axis_sample(y, p, i, &row) || !roi_axis_sample(x, q, k, &column))
                continue;
            double down = (double)row.fraction, right = (double)column.fraction;
            sum += (1 - down) * ((1 - right) * pixel_of(m, row.low, column.low) +
                                 right * pixel_of(m, row.low, column.high)) +
                   down * ((1 - right) * pixel_of(m, row.high, column.low) +
                           right * pixel_of(m, row.high, column.high));
        }
    return y->grid == 0 || x->grid == 0 ? 0 : sum / ((double)y->grid * x->grid);
}

static void fill_row(const struct ref_call *call, const uint8_t *pool, int64_t r) {
    int bins = call->op.attr.detect.pooled;
    int64_t slot = (int64_t)call->in[MASK_TARGETS_ROW][r];
    if (slot < 0)
        return;
    int64_t image = slot / call->in_shape[MASK_TARGETS_ROI].dim[1];
    int64_t object = image * call->in_shape[MASK_TARGETS_AT].dim[1] +
                     (int64_t)call->in[MASK_TARGETS_MATCH][slot];
    struct mask m = {.pool = pool};
    struct roi_rule rule = {.bins = bins};
    float box[4];
    ref_ints(call->in[MASK_TARGETS_AT] + object * MASK_FIELDS, MASK_FIELDS, m.at);
    ref_ints(call->in[MASK_TARGETS_SIZE] + image * IMAGE_SIZE_FIELDS, IMAGE_SIZE_FIELDS, m.size);
    ref_box(call->in[MASK_TARGETS_ROI], slot, box);
    struct roi_axis y = roi_axis_between(box[1], box[3], 1.0f, m.size[IMAGE_SIZE_H], &rule);
    struct roi_axis x = roi_axis_between(box[0], box[2], 1.0f, m.size[IMAGE_SIZE_W], &rule);
    for (int p = 0; p < bins; p++)
        for (int q = 0; q < bins; q++)
            call->out[MASK_TARGETS_T][(r * bins + p) * bins + q] = bin_of(&m, &y, &x, p, q);
}

int ref_mask_targets(const struct ref_call *call, struct error *err) {
    int64_t bytes = call->in_shape[MASK_TARGETS_BITS].dim[0];
    cleanup_free void *memory = malloc((size_t)bytes);
    if (memory == NULL)
        return error_no_memory(err, "masks");
    uint8_t *pool = memory;
    for (int64_t i = 0; i < bytes; i++)
        pool[i] = (uint8_t)call->in[MASK_TARGETS_BITS][i];
    for (int64_t r = 0; r < call->in_shape[MASK_TARGETS_ROW].dim[0]; r++)
        fill_row(call, pool, r);
    return 0;
}

/* Values of the rows that count. */
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
    for (int64_t i = 0; i < count; i++)
        call->out[MASK_LOSS_GRAD_DLOGITS][i] =
            logit_loss_gradient(call->in[MASK_LOSS_LOGITS][i], call->in[MASK_LOSS_T][i]) /
            (double)count;
    return 0;
}
