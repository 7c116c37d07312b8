/* Targets of the mask head: separable RoIAlign of an object's bitmap, one row of the head per
 * thread. Each row of the picture that a bin needs is first summed into the bins along x. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/roi_table.h"
#include "trainer/graph/op_roi.h"
#include "trainer/math/mask_target.h"

/* A target is what a perfect mask head would say of a region: the share of each bin that the
 * matched object covers. Bitmaps are stored at the size of the source picture (math/mask_bits.h),
 * while regions are in pixels of the resized one; mask_view maps between them.
 *
 * With DETECT_MASK_POLYGON targets are 0 or 1, and outlines, where an object has them, are
 * rasterized in the region itself. Otherwise they are means. */

struct mask_op {
    struct cpu_step step;
    size_t rows, slots, objects, table_size;
    struct roi_rule rule;
    const float *roi;
    const int32_t *match, *row, *at, *size;
    const uint8_t *pool;
    bool cut; /* threshold to 0 or 1 */
    float least;
    const int32_t *parts, *part;
    const float *point;
    float *targets;
    char *own; /* for each thread: two tables */
    size_t own_bytes;
};

/* Maps the taps' columns to those of the source, which are read more than once. Neighbouring taps
 * may then name the same column; their weights simply add up. */
static void to_source(const struct mask_view *o, struct roi_table *x) {
    int32_t taps = x->first[x->axis.count];
    for (int32_t t = 0; t < taps; t++)
        x->taps[t].at = mask_view_column(o, x->taps[t].at);
}

/* sums[bin] += WEIGHT times the contribution of row ROW of the source to the bin. A row outside the
 * object's bitmap counts as 0. */
static void add_row(const struct mask_view *o, const struct roi_table *x, int32_t row, float weight,
                    float *sums) {
    if (row < o->at[MASK_Y] || row >= o->at[MASK_Y] + o->at[MASK_HEIGHT])
        return;
    for (size_t q = 0; q < x->axis.count; q++) {
        float sum = 0;
        for (int32_t t = x->first[q]; t < x->first[q + 1]; t++)
            sum += mask_bits_get(o->pool, o->at, x->taps[t].at, row) != 0 ? x->taps[t].weight : 0;
        sums[q] += weight * sum;
    }
}

/* Bin row P: taps that read the same source row are merged. */
static void fill_bins(const struct mask_view *o, const struct roi_table *y,
                      const struct roi_table *x, size_t p, float *sums) {
    memset(sums, 0, x->axis.count * sizeof *sums);
    for (int32_t t = y->first[p]; t < y->first[p + 1];) {
        int32_t row = mask_view_row(o, y->taps[t].at);
        float weight = 0;
        for (; t < y->first[p + 1] && mask_view_row(o, y->taps[t].at) == row; t++)
            weight += y->taps[t].weight;
        add_row(o, x, row, weight, sums);
    }
}

/* Computes the means of all bins, axis by axis. The two tables share the thread's memory: y in its
 * first half, x in its second. */
static void fill_means(const struct mask_op *op, int thread, const struct mask_view *view,
                       const struct roi_axis *along_y, const struct roi_axis *along_x,
                       float *targets) {
    char *own = op->own + (size_t)thread * op->own_bytes;
    struct roi_table y = roi_table_in(own, &op->rule, op->table_size);
    struct roi_table x = roi_table_in(own + op->own_bytes / 2, &op->rule, op->table_size);
    roi_table_bins(&y, along_y, op->rule.bins);
    roi_table_bins(&x, along_x, op->rule.bins);
    to_source(view, &x);
    for (size_t p = 0; p < (size_t)op->rule.bins; p++)
        fill_bins(view, &y, &x, p, targets + p * (size_t)op->rule.bins);
}

/* 0 or 1: an outline is rasterized, else the means are thresholded at one half, both as in
 * math/. */
static void fill_cut(const struct mask_op *op, const struct mask_view *view, size_t object,
                     const float *box, const struct roi_axis *y, const struct roi_axis *x,
                     float *targets) {
    const int32_t *parts = op->parts == NULL ? NULL : op->parts + object * MASK_PART_FIELDS;
    int bins = op->rule.bins;
    struct mask_outline outline = {.points = op->point,
                                   .part = op->part,
                                   .first = parts == NULL ? 0 : parts[MASK_PART_FIRST],
                                   .count = parts == NULL ? 0 : parts[MASK_PART_COUNT],
                                   .bins = bins};
    mask_outline_place(&outline, box, op->least);
    for (int p = 0; p < bins; p++)
        for (int q = 0; q < bins; q++) {
            bool set = outline.count > 0 ? mask_outline_covers(&outline, p, q)
                                         : mask_view_bin(view, y, x, p, q) >= 0.5f;
            targets[p * bins + q] = set ? 1 : 0;
        }
}

/* Row R of the head belongs to slot row[R] of the sampled regions; -1 is an unused row, which
 * becomes zeros. The match is an object of the slot's own picture. Rows of one object in several
 * regions are computed anew: nothing is kept between rows. */
static void fill_row(void *context, int thread, size_t r) {
    const struct mask_op *op = context;
    size_t bins = (size_t)op->rule.bins;
    float *targets = op->targets + r * bins * bins;
    if (op->row[r] < 0) {
        memset(targets, 0, bins * bins * sizeof *targets);
        return;
    }
    size_t slot = (size_t)op->row[r], image = slot / op->slots;
    size_t object = image * op->objects + (size_t)op->match[slot];
    const float *box = op->roi + 4 * slot;
    const int32_t *size = op->size + image * IMAGE_SIZE_FIELDS;
    struct mask_view view = mask_view_of(op->pool, op->at + object * MASK_FIELDS, size);
    struct roi_axis y = roi_axis_between(box[1], box[3], 1.0f, size[IMAGE_SIZE_H], &op->rule);
    struct roi_axis x = roi_axis_between(box[0], box[2], 1.0f, size[IMAGE_SIZE_W], &op->rule);
    if (op->cut)
        fill_cut(op, &view, object, box, &y, &x, targets);
    else
        fill_means(op, thread, &view, &y, &x, targets);
}

/* Rows of the head are units, as regions differ in size and so in their number of taps. */
static int run(void *context, struct error *err) {
    (void)err;
    struct mask_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, fill_row, op);
    return 0;
}

/* No fixed number of sampling points: as many as the bin is large, as torchvision does for
 * masks. */
static struct roi_rule rule_of(const struct op *op) {
    return (struct roi_rule){.bins = op->attr.detect.pooled,
                             .aligned = (op->attr.detect.flags & DETECT_MASK_POLYGON) != 0};
}

/* Returns the longer side that a resized picture may have. */
static size_t side_of(const struct op *op) {
    const struct detect_attr *d = &op->attr.detect;
    return (size_t)(d->canvas_h > d->canvas_w ? d->canvas_h : d->canvas_w);
}

/* A region is at most as long as the canvas, which limits its taps. */
static size_t own_bytes(const struct op *op) {
    struct roi_rule rule = rule_of(op);
    return 2 * roi_table_bytes(&rule, side_of(op));
}

/* The tables belong to threads, not to rows, so the scratch does not grow with the batch. Two
 * tables are enough, because a thread finishes one row before the next. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)graph;
    (void)err;
    ret_needs->scratch = (size_t)cpu->threads * own_bytes(op);
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct mask_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->rows = (size_t)cpu_input(graph, op, MASK_TARGETS_ROW)->shape.dim[0];
    bound->slots = (size_t)cpu_input(graph, op, MASK_TARGETS_ROI)->shape.dim[1];
    bound->objects = (size_t)cpu_input(graph, op, MASK_TARGETS_AT)->shape.dim[1];
    bound->table_size = side_of(op);
    bound->rule = rule_of(op);
    bound->roi = addresses->inputs[MASK_TARGETS_ROI];
    bound->match = addresses->inputs[MASK_TARGETS_MATCH];
    bound->row = addresses->inputs[MASK_TARGETS_ROW];
    bound->at = addresses->inputs[MASK_TARGETS_AT];
    bound->size = addresses->inputs[MASK_TARGETS_SIZE];
    bound->pool = addresses->inputs[MASK_TARGETS_BITS];
    bound->cut = bound->rule.aligned;
    bound->least = op->attr.detect.min_side;
    bound->parts = addresses->inputs[MASK_TARGETS_PARTS];
    bound->part = addresses->inputs[MASK_TARGETS_PART];
    bound->point = addresses->inputs[MASK_TARGETS_POINT];
    bound->targets = addresses->outputs[MASK_TARGETS_T];
    bound->own = addresses->scratch;
    bound->own_bytes = own_bytes(op);
    return 0;
}

const struct cpu_operator cpu_mask_targets = {NULL, query, bind};
