/* Targets and loss of the mask head. */
#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/detect/region.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/mask_target.h"

#include <stdlib.h>

/* Inputs that math/ reads directly, in their own types; owned. */
struct pools {
    uint8_t *bits;
    int32_t *part;
    float *point;
};

static void pools_done(struct pools *p) {
    free(p->bits);
    free(p->part);
    free(p->point);
}

static size_t count_of(const struct ref_call *call, int slot) {
    return call->in[slot] == NULL ? 0 : (size_t)shape_count(&call->in_shape[slot]);
}

static int pools_open(struct pools *p, const struct ref_call *call, struct error *err) {
    size_t bytes = count_of(call, MASK_TARGETS_BITS), parts = count_of(call, MASK_TARGETS_PART);
    size_t points = count_of(call, MASK_TARGETS_POINT);
    *p = (struct pools){.bits = malloc(bytes + 1),
                        .part = malloc((parts + 1) * sizeof(*p->part)),
                        .point = malloc((points + 1) * sizeof(*p->point))};
    if (p->bits == NULL || p->part == NULL || p->point == NULL)
        return error_no_memory(err, "masks");
    for (size_t i = 0; i < bytes; i++)
        p->bits[i] = (uint8_t)call->in[MASK_TARGETS_BITS][i];
    for (size_t i = 0; i < parts; i++)
        p->part[i] = (int32_t)call->in[MASK_TARGETS_PART][i];
    for (size_t i = 0; i < points; i++)
        p->point[i] = (float)call->in[MASK_TARGETS_POINT][i];
    return 0;
}

/* A row of the head: its region, and the region's object. */
struct row {
    float box[4];
    int32_t at[MASK_FIELDS], size[IMAGE_SIZE_FIELDS], parts[MASK_PART_FIELDS];
    struct mask_view view;
    struct roi_axis y, x;
    struct mask_outline outline;
};

/* SLOT counts regions over all pictures; the object is the one that the region was matched with. */
static void find_row(const struct ref_call *call, const struct pools *pools, int64_t slot,
                     struct row *row) {
    const struct detect_attr *d = &call->op.attr.detect;
    int64_t image = slot / call->in_shape[MASK_TARGETS_ROI].dim[1];
    int64_t object = image * call->in_shape[MASK_TARGETS_AT].dim[1] +
                     (int64_t)call->in[MASK_TARGETS_MATCH][slot];
    struct roi_rule rule = {.bins = d->pooled, .aligned = (d->flags & DETECT_MASK_POLYGON) != 0};
    ref_box(call->in[MASK_TARGETS_ROI], slot, row->box);
    ref_ints(call->in[MASK_TARGETS_AT] + object * MASK_FIELDS, MASK_FIELDS, row->at);
    ref_ints(call->in[MASK_TARGETS_SIZE] + image * IMAGE_SIZE_FIELDS, IMAGE_SIZE_FIELDS, row->size);
    if (call->in[MASK_TARGETS_PARTS] != NULL)
        ref_ints(call->in[MASK_TARGETS_PARTS] + object * MASK_PART_FIELDS, MASK_PART_FIELDS,
                 row->parts);
    row->view = mask_view_of(pools->bits, row->at, row->size);
    row->y = roi_axis_between(row->box[1], row->box[3], 1.0f, row->size[IMAGE_SIZE_H], &rule);
    row->x = roi_axis_between(row->box[0], row->box[2], 1.0f, row->size[IMAGE_SIZE_W], &rule);
    row->outline = (struct mask_outline){.points = pools->point,
                                         .part = pools->part,
                                         .first = row->parts[MASK_PART_FIRST],
                                         .count = row->parts[MASK_PART_COUNT],
                                         .bins = d->pooled};
    mask_outline_place(&row->outline, row->box, d->min_side);
}

/* The mean of a bin's samples, in double. */
static double mean_of(const struct row *row, int p, int q) {
    struct bilinear_tap v, u;
    double sum = 0;
    for (int i = 0; i < row->y.grid; i++)
        for (int k = 0; k < row->x.grid; k++) {
            if (!roi_axis_sample(&row->y, p, i, &v) || !roi_axis_sample(&row->x, q, k, &u))
                continue;
            double down = (double)v.fraction, right = (double)u.fraction;
            sum += (1 - down) * ((1 - right) * mask_view_pixel(&row->view, v.low, u.low) +
                                 right * mask_view_pixel(&row->view, v.low, u.high)) +
                   down * ((1 - right) * mask_view_pixel(&row->view, v.high, u.low) +
                           right * mask_view_pixel(&row->view, v.high, u.high));
        }
    return row->y.grid == 0 || row->x.grid == 0 ? 0 : sum / ((double)row->y.grid * row->x.grid);
}

/* Without DETECT_MASK_POLYGON a target is a mean; with it a target is 0 or 1, from the outline if
 * the object has one. */
static double value_of(const struct ref_call *call, const struct row *row, int p, int q) {
    if ((call->op.attr.detect.flags & DETECT_MASK_POLYGON) == 0)
        return mean_of(row, p, q);
    if (row->outline.count > 0)
        return mask_outline_covers(&row->outline, p, q);
    return mask_view_bin(&row->view, &row->y, &row->x, p, q) >= 0.5f;
}

int ref_mask_targets(const struct ref_call *call, struct error *err) {
    int bins = call->op.attr.detect.pooled;
    __attribute__((cleanup(pools_done))) struct pools pools = {0};
    if (pools_open(&pools, call, err) != 0)
        return -1;
    for (int64_t r = 0; r < call->in_shape[MASK_TARGETS_ROW].dim[0]; r++) {
        int64_t slot = (int64_t)call->in[MASK_TARGETS_ROW][r];
        struct row row = {.parts = {0}};
        if (slot < 0)
            continue;
        find_row(call, &pools, slot, &row);
        for (int i = 0; i < bins * bins; i++)
            call->out[MASK_TARGETS_T][r * bins * bins + i] =
                value_of(call, &row, i / bins, i % bins);
    }
    return 0;
}

/* Returns the number of values in the rows that count. */
static int64_t counted(const struct ref_call *call) {
    const struct shape *logits = &call->in_shape[MASK_LOSS_LOGITS];
    return (int64_t)call->in[MASK_LOSS_ROWS][0] * logits->dim[1] * logits->dim[2];
}

/* OUT is zero at first, and so stays if no row counts. */
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
