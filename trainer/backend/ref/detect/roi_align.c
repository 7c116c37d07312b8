/* RoIAlign and its gradient. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/detect/region.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/roi_axis.h"
#include "trainer/math/roi_level.h"

/* A row of the output: positions of its samples. */
struct row {
    int64_t image;
    int level;
    struct roi_axis y, x;
};

/* Slots: ROI and the two after it, as in both operators. MAPS are the shapes of the levels.
 * Returns false if row R is empty. */
static bool find_row(const struct ref_call *call, int roi, const struct shape *maps, int64_t r,
                     struct row *ret) {
    const struct detect_attr *d = &call->op.attr.detect;
    const double *label = call->in[roi + 1], *row = call->in[roi + 2];
    if (row != NULL ? row[r] < 0 : label != NULL && label[r] < 0)
        return false;
    int64_t slot = row != NULL ? (int64_t)row[r] : r;
    float box[4];
    ref_box(call->in[roi], slot, box);
    struct roi_rule rule = {.bins = d->pooled,
                            .sampling = d->sampling,
                            .aligned = (d->flags & DETECT_ROI_ALIGNED) != 0};
    int l = roi_level(box, d->levels, d->level_epsilon, (d->flags & DETECT_LEVEL_INSIDE) != 0,
                      detect_plus(d));
    *ret = (struct row){.image = slot / call->in_shape[roi].dim[1], .level = l};
    ret->y = roi_axis_between(box[1], box[3], 1.0f / (float)detect_cell(l), (int32_t)maps[l].dim[1],
                              &rule);
    ret->x = roi_axis_between(box[0], box[2], 1.0f / (float)detect_cell(l), (int32_t)maps[l].dim[2],
                              &rule);
    return true;
}

/* Weights of a sample's four pixels. */
struct four {
    int64_t place[4]; /* of channel 0 */
    double weight[4];
};

static bool find_sample(const struct row *row, const struct shape *map, int p, int q, int i, int k,
                        struct four *ret) {
    struct bilinear_tap y, x;
    if (!roi_axis_sample(&row->y, p, i, &y) || !roi_axis_sample(&row->x, q, k, &x))
        return false;
    for (int t = 0; t < 4; t++) {
        int64_t line = row->image * map->dim[1] + (t / 2 == 0 ? y.low : y.high);
        ret->place[t] = (line * map->dim[2] + (t % 2 == 0 ? x.low : x.high)) * map->dim[3];
        double along_y = t / 2 == 0 ? 1.0 - (double)y.fraction : (double)y.fraction;
        double along_x = t % 2 == 0 ? 1.0 - (double)x.fraction : (double)x.fraction;
        ret->weight[t] = along_y * along_x / ((double)row->y.grid * row->x.grid);
    }
    return true;
}

/* Transfers values of all channels between bin (P, Q) of ROW and the map: from the map into BIN
 * or, if BACK, from BIN into the map. */
static void carry_bin(const struct row *row, const struct shape *map, double *values, int p, int q,
                      bool back, double *bin) {
    struct four four;
    for (int i = 0; i < row->y.grid; i++)
        for (int k = 0; k < row->x.grid; k++) {
            if (!find_sample(row, map, p, q, i, k, &four))
                continue;
            for (int t = 0; t < 4; t++)
                for (int64_t c = 0; c < map->dim[3]; c++) {
                    double *value = values + four.place[t] + c;
                    *(back ? value : bin + c) += four.weight[t] * (back ? bin[c] : *value);
                }
        }
}

/* MAPS and VALUES: of the levels; BINS: of all rows. */
static void carry(const struct ref_call *call, int roi, const struct shape *maps,
                  double *const *values, int64_t rows, bool back, double *bins) {
    int pooled = call->op.attr.detect.pooled;
    struct row row;
    for (int64_t r = 0; r < rows; r++) {
        if (!find_row(call, roi, maps, r, &row))
            continue;
        const struct shape *map = &maps[row.level];
        for (int p = 0; p < pooled; p++)
            for (int q = 0; q < pooled; q++)
                carry_bin(&row, map, values[row.level], p, q, back,
                          bins + ((r * pooled + p) * pooled + q) * map->dim[3]);
    }
}

int ref_roi_align(const struct ref_call *call, struct error *err) {
    (void)err;
    carry(call, ROI_ALIGN_ROI, call->in_shape + ROI_ALIGN_MAP, call->in + ROI_ALIGN_MAP,
          call->out_shape[ROI_ALIGN_Y].dim[0], false, call->out[ROI_ALIGN_Y]);
    return 0;
}

int ref_roi_align_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    for (int l = 0; l < call->op.attr.detect.levels; l++) {
        const double *before = call->in[ROI_ALIGN_GRAD_BEFORE + l];
        for (int64_t i = 0;
             before != NULL && i < shape_count(&call->out_shape[ROI_ALIGN_GRAD_DMAP + l]); i++)
            call->out[ROI_ALIGN_GRAD_DMAP + l][i] = before[i];
    }
    carry(call, ROI_ALIGN_GRAD_ROI, call->out_shape + ROI_ALIGN_GRAD_DMAP,
          call->out + ROI_ALIGN_GRAD_DMAP, call->in_shape[ROI_ALIGN_GRAD_DY].dim[0], true,
          call->in[ROI_ALIGN_GRAD_DY]);
    return 0;
}
