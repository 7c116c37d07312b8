/* What masks should be: RoIAlign of an object's bits by axis, a row of the mask head to a thread.
 * Each row of the picture that a bin needs is first summed into the bins along x. */
#include "cpu/context.h"
#include "cpu/parallel.h"
#include "cpu/roi_table.h"
#include "graph/op_roi.h"
#include "kernels/image_size.h"
#include "kernels/mask_bits.h"

struct mask_op {
    struct cpu_step step;
    size_t rows, slots, objects, table_size;
    struct roi_rule rule;
    const float *roi;
    const int32_t *match, *row, *at, *size;
    const uint8_t *pool;
    float *targets;
    char *own; /* for each thread: two tables */
    size_t own_bytes;
};

/* An object in the resized picture. */
struct object {
    const uint8_t *pool;
    const int32_t *at, *size;
    float scale_y, scale_x;
};

static int32_t source_row(const struct object *o, int32_t y) {
    return bilinear_nearest(y, o->scale_y, o->size[IMAGE_SIZE_SOURCE_H]);
}

static int32_t source_column(const struct object *o, int32_t x) {
    int32_t column = bilinear_nearest(x, o->scale_x, o->size[IMAGE_SIZE_SOURCE_W]);
    return o->size[IMAGE_SIZE_FLIP] != 0 ? o->size[IMAGE_SIZE_SOURCE_W] - 1 - column : column;
}

/* Turns the taps' columns into those of the source, which are read more than once. */
static void to_source(const struct object *o, struct roi_table *x) {
    int32_t taps = x->first[x->axis.count];
    for (int32_t t = 0; t < taps; t++)
        x->taps[t].at = source_column(o, x->taps[t].at);
}

/* sums[bin] += WEIGHT times what row ROW of the source has of the bin. */
static void add_row(const struct object *o, const struct roi_table *x, int32_t row, float weight,
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

/* Bin row P: taps that read one row of the source are one. */
static void fill_bins(const struct object *o, const struct roi_table *y, const struct roi_table *x,
                      size_t p, float *sums) {
    memset(sums, 0, x->axis.count * sizeof *sums);
    for (int32_t t = y->first[p]; t < y->first[p + 1];) {
        int32_t row = source_row(o, y->taps[t].at);
        float weight = 0;
        for (; t < y->first[p + 1] && source_row(o, y->taps[t].at) == row; t++)
            weight += y->taps[t].weight;
        add_row(o, x, row, weight, sums);
    }
}

static void fill_row(void *context, int thread, size_t r) {
    const struct mask_op *op = context;
    size_t bins = (size_t)op->rule.bins, bytes = roi_table_bytes(&op->rule, op->table_size);
    char *own = op->own + (size_t)thread * op->own_bytes;
    float *targets = op->targets + r * bins * bins;
    if (op->row[r] < 0) {
        memset(targets, 0, bins * bins * sizeof *targets);
        return;
    }
    size_t slot = (size_t)op->row[r], image = slot / op->slots;
    const float *box = op->roi + 4 * slot;
    const int32_t *size = op->size + image * IMAGE_SIZE_FIELDS;
    struct object o = {.pool = op->pool,
                       .at = op->at + (image * op->objects + (size_t)op->match[slot]) * MASK_FIELDS,
                       .size = size,
                       .scale_y = bilinear_scale(size[IMAGE_SIZE_SOURCE_H], size[IMAGE_SIZE_H]),
                       .scale_x = bilinear_scale(size[IMAGE_SIZE_SOURCE_W], size[IMAGE_SIZE_W])};
    struct roi_axis along_y = roi_axis_between(box[1], box[3], 1.0f, size[IMAGE_SIZE_H], &op->rule);
    struct roi_axis along_x = roi_axis_between(box[0], box[2], 1.0f, size[IMAGE_SIZE_W], &op->rule);
    struct roi_table y = roi_table_in(own, &op->rule, op->table_size);
    struct roi_table x = roi_table_in(own + bytes, &op->rule, op->table_size);
    roi_table_bins(&y, &along_y, op->rule.bins);
    roi_table_bins(&x, &along_x, op->rule.bins);
    to_source(&o, &x);
    for (size_t p = 0; p < bins; p++)
        fill_bins(&o, &y, &x, p, targets + p * bins);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct mask_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, fill_row, op);
    return 0;
}

static struct roi_rule rule_of(const struct op *op) {
    return (struct roi_rule){.bins = op->attr.detect.pooled};
}

/* The longer side of what a resized picture may have. */
static size_t side_of(const struct op *op) {
    const struct detect_attr *d = &op->attr.detect;
    return (size_t)(d->canvas_h > d->canvas_w ? d->canvas_h : d->canvas_w);
}

static size_t own_bytes(const struct op *op) {
    struct roi_rule rule = rule_of(op);
    return 2 * roi_table_bytes(&rule, side_of(op));
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)graph;
    (void)err;
    ret_needs->scratch = (size_t)cpu->threads * own_bytes(op);
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct backend_site *site, struct backend_bound *ret_bound,
                struct error *err) {
    struct mask_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->rows = (size_t)cpu_input(graph, op, MASK_TARGETS_ROW)->shape.dim[0];
    bound->slots = (size_t)cpu_input(graph, op, MASK_TARGETS_ROI)->shape.dim[1];
    bound->objects = (size_t)cpu_input(graph, op, MASK_TARGETS_AT)->shape.dim[1];
    bound->table_size = side_of(op);
    bound->rule = rule_of(op);
    bound->roi = site->inputs[MASK_TARGETS_ROI];
    bound->match = site->inputs[MASK_TARGETS_MATCH];
    bound->row = site->inputs[MASK_TARGETS_ROW];
    bound->at = site->inputs[MASK_TARGETS_AT];
    bound->size = site->inputs[MASK_TARGETS_SIZE];
    bound->pool = site->inputs[MASK_TARGETS_BITS];
    bound->targets = site->outputs[MASK_TARGETS_T];
    bound->own = site->scratch;
    bound->own_bytes = own_bytes(op);
    return 0;
}

const struct cpu_operator cpu_mask_targets = {NULL, query, bind};
