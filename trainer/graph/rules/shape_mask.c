/* Shape rules of the operators on masks. */
#include "trainer/graph/op_roi.h"
#include "trainer/graph/rules/rules.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/mask_target.h"

int shape_mask_rows(struct graph *graph, struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, MASK_ROWS_LABEL, DTYPE_I32, 2, err) != 0 ||
        rule_expect_rank(graph, op, MASK_ROWS_AT, DTYPE_I32, 3, err) != 0)
        return -1;
    struct shape slots = rule_input(graph, op, MASK_ROWS_LABEL)->shape;
    int64_t objects = rule_dim(graph, op, MASK_ROWS_AT, 1), rows = op->attr.detect.positives;
    if (rule_expect_of(graph, op, MASK_ROWS_MATCH, DTYPE_I32, slots, err) != 0 ||
        rule_expect_of(graph, op, MASK_ROWS_AT, DTYPE_I32,
                       shape_3(slots.dim[0], objects, MASK_FIELDS), err) != 0)
        return -1;
    if (rows < 1 || rows > slots.dim[1])
        return error_set(err, EXIT_CODE_INTERNAL, "%d of %d slots have objects",
                         op->attr.detect.positives, (int)slots.dim[1]);
    struct shape all = shape_1(rows * slots.dim[0]);
    if (graph_set_output(graph, op, MASK_ROWS_ROW, DTYPE_I32, all, err) != 0 ||
        graph_set_output(graph, op, MASK_ROWS_MASK_LABEL, DTYPE_I32, all, err) != 0)
        return -1;
    return graph_set_output(graph, op, MASK_ROWS_COUNT, DTYPE_I32, shape_1(1), err);
}

static int expect_outlines(const struct graph *graph, const struct op *op, struct error *err) {
    struct shape parts = rule_input(graph, op, MASK_TARGETS_AT)->shape;
    parts.dim[2] = MASK_PART_FIELDS;
    if (rule_expect(graph, op, MASK_TARGETS_PARTS, DTYPE_I32, &parts, err) != 0 ||
        rule_expect_rank(graph, op, MASK_TARGETS_PART, DTYPE_I32, 2, err) != 0 ||
        rule_expect_rank(graph, op, MASK_TARGETS_POINT, DTYPE_F32, 2, err) != 0)
        return -1;
    struct shape part = shape_2(rule_dim(graph, op, MASK_TARGETS_PART, 0), MASK_PART_FIELDS);
    struct shape point = shape_2(rule_dim(graph, op, MASK_TARGETS_POINT, 0), 2);
    if (rule_expect(graph, op, MASK_TARGETS_PART, DTYPE_I32, &part, err) != 0)
        return -1;
    return rule_expect(graph, op, MASK_TARGETS_POINT, DTYPE_F32, &point, err);
}

int shape_mask_targets(struct graph *graph, struct op *op, struct error *err) {
    int64_t bins = op->attr.detect.pooled;
    if (rule_expect_rank(graph, op, MASK_TARGETS_ROI, DTYPE_F32, 3, err) != 0 ||
        rule_expect_rank(graph, op, MASK_TARGETS_ROW, DTYPE_I32, 1, err) != 0 ||
        rule_expect_rank(graph, op, MASK_TARGETS_AT, DTYPE_I32, 3, err) != 0 ||
        rule_expect_rank(graph, op, MASK_TARGETS_BITS, DTYPE_U8, 1, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, MASK_TARGETS_ROI, 0);
    int64_t slots = rule_dim(graph, op, MASK_TARGETS_ROI, 1);
    int64_t objects = rule_dim(graph, op, MASK_TARGETS_AT, 1);
    if (rule_expect_of(graph, op, MASK_TARGETS_ROI, DTYPE_F32, shape_3(n, slots, 4), err) != 0 ||
        rule_expect_of(graph, op, MASK_TARGETS_MATCH, DTYPE_I32, shape_2(n, slots), err) != 0 ||
        rule_expect_of(graph, op, MASK_TARGETS_AT, DTYPE_I32, shape_3(n, objects, MASK_FIELDS),
                       err) != 0 ||
        rule_expect_of(graph, op, MASK_TARGETS_SIZE, DTYPE_I32, shape_2(n, IMAGE_SIZE_FIELDS),
                       err) != 0)
        return -1;
    if (bins < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "masks of %d bins", op->attr.detect.pooled);
    bool outlines = op->inputs[MASK_TARGETS_PARTS] != TENSOR_NONE ||
                    op->inputs[MASK_TARGETS_PART] != TENSOR_NONE ||
                    op->inputs[MASK_TARGETS_POINT] != TENSOR_NONE;
    if (outlines && expect_outlines(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, MASK_TARGETS_T, DTYPE_F32,
                            shape_3(rule_dim(graph, op, MASK_TARGETS_ROW, 0), bins, bins), err);
}

/* Weights with one row per class, whatever their rank, for CHANNELS. */
static int expect_weights(const struct graph *graph, const struct op *op, int slot,
                          int64_t channels, struct error *err) {
    const struct tensor *w = rule_input(graph, op, slot);
    if (w == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "input %d is missing", slot);
    struct shape flat = shape_2(w->shape.dim[0], channels);
    struct shape point = shape_4(w->shape.dim[0], 1, 1, channels);
    return rule_expect(graph, op, slot, dtype_wide(graph->dtype),
                       w->shape.rank == 4 ? &point : &flat, err);
}

/* As many labels as ROWS, whatever their rank. */
static int expect_labels(const struct graph *graph, const struct op *op, int slot, int64_t rows,
                         struct error *err) {
    const struct tensor *label = rule_input(graph, op, slot);
    if (label == NULL || label->dtype != DTYPE_I32 || tensor_count(label) != rows)
        return error_set(err, EXIT_CODE_INTERNAL, "expected one label per row");
    return 0;
}

int shape_class_conv(struct graph *graph, struct op *op, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_rank(graph, op, CLASS_CONV_X, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, CLASS_CONV_X)->shape;
    if (expect_weights(graph, op, CLASS_CONV_W, x.dim[3], err) != 0 ||
        rule_expect_of(graph, op, CLASS_CONV_B, wide, shape_1(rule_dim(graph, op, CLASS_CONV_W, 0)),
                       err) != 0 ||
        expect_labels(graph, op, CLASS_CONV_LABEL, x.dim[0], err) != 0)
        return -1;
    return graph_set_output(graph, op, CLASS_CONV_Y, wide, shape_3(x.dim[0], x.dim[1], x.dim[2]),
                            err);
}

int shape_class_conv_grad_data(struct graph *graph, struct op *op, struct error *err) {
    struct shape x = op->attr.target;
    if (rule_expect_of(graph, op, CLASS_CONV_GRAD_DATA_DY, graph->dtype,
                       shape_3(x.dim[0], x.dim[1], x.dim[2]), err) != 0 ||
        expect_weights(graph, op, CLASS_CONV_GRAD_DATA_W, x.dim[3], err) != 0 ||
        expect_labels(graph, op, CLASS_CONV_GRAD_DATA_LABEL, x.dim[0], err) != 0)
        return -1;
    return graph_set_output(graph, op, 0, graph->dtype, x, err);
}

int shape_class_conv_grad_weight(struct graph *graph, struct op *op, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_rank(graph, op, CLASS_CONV_GRAD_WEIGHT_X, graph->dtype, 4, err) != 0)
        return -1;
    struct shape x = rule_input(graph, op, CLASS_CONV_GRAD_WEIGHT_X)->shape, w = op->attr.target;
    if (rule_expect_of(graph, op, CLASS_CONV_GRAD_WEIGHT_DY, graph->dtype,
                       shape_3(x.dim[0], x.dim[1], x.dim[2]), err) != 0 ||
        expect_labels(graph, op, CLASS_CONV_GRAD_WEIGHT_LABEL, x.dim[0], err) != 0)
        return -1;
    if (shape_count(&w) != w.dim[0] * x.dim[3])
        return error_set(err, EXIT_CODE_INTERNAL, "the weights have other channels");
    if (graph_set_output(graph, op, CLASS_CONV_GRAD_WEIGHT_DW, wide, w, err) != 0)
        return -1;
    return graph_set_output(graph, op, CLASS_CONV_GRAD_WEIGHT_DB, wide, shape_1(w.dim[0]), err);
}

static int expect_mask_loss(const struct graph *graph, const struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, MASK_LOSS_LOGITS, dtype_wide(graph->dtype), 3, err) != 0 ||
        rule_expect_of(graph, op, MASK_LOSS_T, DTYPE_F32,
                       rule_input(graph, op, MASK_LOSS_LOGITS)->shape, err) != 0)
        return -1;
    return rule_expect_of(graph, op, MASK_LOSS_ROWS, DTYPE_I32, shape_1(1), err);
}

int shape_mask_loss(struct graph *graph, struct op *op, struct error *err) {
    if (expect_mask_loss(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, MASK_LOSS_VALUE, dtype_wide(graph->dtype), shape_1(1), err);
}

int shape_mask_loss_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_mask_loss(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, MASK_LOSS_GRAD_DLOGITS, graph->dtype,
                            rule_input(graph, op, MASK_LOSS_LOGITS)->shape, err);
}
