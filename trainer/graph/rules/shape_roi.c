/* Shape rules of the operators on regions: targets, RoIAlign, the box head's loss, detections,
 * metrics of a step. op_roi.h has slots and letters of the dimensions; those on masks are in
 * shape_mask.c.
 *
 * The number of pictures N is read from one input, and all others must agree with it. Sizes that
 * belong to the network are attributes (op_detect.h) and are checked here as well, since kernels
 * allocate and loop by them. Regions come in slots, a fixed number for each picture: labels and
 * counts say which are used, so no shape depends on the data. */
#include "trainer/graph/detect_grid.h"
#include "trainer/graph/rules/rules.h"
#include "trainer/math/image_size.h"
#include "trainer/math/sample_key.h"

/* Pictures have different sizes, so they come as bytes in rows of equal length, with their sizes
 * beside them. The canvas is the same for all of a batch. */
int shape_image_resize(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *detect = &op->attr.detect;
    if (rule_expect_rank(graph, op, IMAGE_RESIZE_IMAGE, DTYPE_U8, 2, err) != 0)
        return -1;
    int64_t images = rule_dim(graph, op, IMAGE_RESIZE_IMAGE, 0);
    if (rule_expect_of(graph, op, IMAGE_RESIZE_SIZE, DTYPE_I32, shape_2(images, IMAGE_SIZE_FIELDS),
                       err) != 0)
        return -1;
    if (detect->canvas_h < 1 || detect->canvas_w < 1 || op->attr.channels < 3)
        return error_set(err, EXIT_CODE_INTERNAL, "a canvas of %dx%dx%d", detect->canvas_h,
                         detect->canvas_w, op->attr.channels);
    return graph_set_output(graph, op, IMAGE_RESIZE_Y, graph->dtype,
                            shape_4(images, detect->canvas_h, detect->canvas_w, op->attr.channels),
                            err);
}

/* Proposals, objects and keys of N pictures become S samples each. `positives` is at least 1 here,
 * as the rows of the mask head are as many for each picture; a region proposal network may have
 * 0. */
int shape_roi_targets(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *detect = &op->attr.detect;
    if (rule_expect_rank(graph, op, ROI_TARGETS_BOX, DTYPE_F32, 3, err) != 0 ||
        rule_expect_rank(graph, op, ROI_TARGETS_GT_BOX, DTYPE_F32, 3, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, ROI_TARGETS_BOX, 0),
            k = rule_dim(graph, op, ROI_TARGETS_BOX, 1);
    int64_t objects = rule_dim(graph, op, ROI_TARGETS_GT_BOX, 1), samples = detect->samples;
    if (rule_expect_of(graph, op, ROI_TARGETS_BOX, DTYPE_F32, shape_3(n, k, 4), err) != 0 ||
        rule_expect_of(graph, op, ROI_TARGETS_COUNT, DTYPE_I32, shape_1(n), err) != 0 ||
        rule_expect_of(graph, op, ROI_TARGETS_GT_BOX, DTYPE_F32, shape_3(n, objects, 4), err) !=
            0 ||
        rule_expect_of(graph, op, ROI_TARGETS_GT_LABEL, DTYPE_I32, shape_2(n, objects), err) != 0 ||
        rule_expect_of(graph, op, ROI_TARGETS_GT_COUNT, DTYPE_I32, shape_1(n), err) != 0 ||
        rule_expect_of(graph, op, ROI_TARGETS_KEY, DTYPE_I32, shape_2(n, SAMPLE_KEY_WORDS), err) !=
            0)
        return -1;
    if (samples < 1 || detect->positives < 1 || detect->positives > samples)
        return error_set(err, EXIT_CODE_INTERNAL, "%d samples, %d of them positive",
                         detect->samples, detect->positives);
    if (graph_set_output(graph, op, ROI_TARGETS_ROI, DTYPE_F32, shape_3(n, samples, 4), err) != 0 ||
        graph_set_output(graph, op, ROI_TARGETS_LABEL, DTYPE_I32, shape_2(n, samples), err) != 0 ||
        graph_set_output(graph, op, ROI_TARGETS_MATCH, DTYPE_I32, shape_2(n, samples), err) != 0)
        return -1;
    return graph_set_output(graph, op, ROI_TARGETS_TARGET, DTYPE_F32, shape_3(n, samples, 4), err);
}

/* Returns the shape of LEVEL's map: each level has half the sides of the one before, rounded as in
 * detect_grid.h. */
static struct shape map_shape(const struct detect_attr *detect, int level, int64_t images,
                              int64_t channels) {
    return shape_4(images, detect_cells(detect->canvas_h, level),
                   detect_cells(detect->canvas_w, level), channels);
}

/* Checks attributes and the slots of regions, of which the first is ROI; *RET_ROWS are the rows of
 * the output: one for each slot, or as many as a list of rows has. Label and row are the two inputs
 * after ROI, in both kinds. `sampling` 0 lets the region's size decide how many samples a bin
 * has. */
static int expect_regions(const struct graph *graph, const struct op *op, int roi,
                          int64_t *ret_rows, struct error *err) {
    const struct detect_attr *detect = &op->attr.detect;
    int label = roi + 1, row = roi + 2;
    if (detect->levels < 1 || detect->levels > ROI_LEVELS_MAX || detect->pooled < 1 ||
        detect->sampling < 0)
        return error_set(err, EXIT_CODE_INTERNAL, "%d bins of %d samples on %d levels",
                         detect->pooled, detect->sampling, detect->levels);
    if (detect->canvas_h < 1 || detect->canvas_w < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "a canvas of %dx%d", detect->canvas_h,
                         detect->canvas_w);
    if (rule_expect_rank(graph, op, roi, DTYPE_F32, 3, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, roi, 0), slots = rule_dim(graph, op, roi, 1);
    if (rule_expect_of(graph, op, roi, DTYPE_F32, shape_3(n, slots, 4), err) != 0)
        return -1;
    /* Without a list each slot has a row of the output, in order; a label below 0 marks an empty
     * one. */
    if (op->inputs[row] == TENSOR_NONE) {
        *ret_rows = n * slots;
        if (op->inputs[label] == TENSOR_NONE)
            return 0;
        return rule_expect_of(graph, op, label, DTYPE_I32, shape_2(n, slots), err);
    }
    if (op->inputs[label] != TENSOR_NONE)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "rows and labels both mark empty rows; expected one of them");
    if (rule_expect_rank(graph, op, row, DTYPE_I32, 1, err) != 0)
        return -1;
    *ret_rows = rule_dim(graph, op, row, 0);
    return 0;
}

/* All maps have the channels of the first one, and the sides of their level. A head's rows follow
 * from the regions, and its sides from `pooled`. */
int shape_roi_align(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *detect = &op->attr.detect;
    int64_t rows = 0;
    if (expect_regions(graph, op, ROI_ALIGN_ROI, &rows, err) != 0 ||
        rule_expect_rank(graph, op, ROI_ALIGN_MAP, graph->dtype, 4, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, ROI_ALIGN_ROI, 0), c = rule_dim(graph, op, ROI_ALIGN_MAP, 3);
    for (int l = 0; l < detect->levels; l++)
        if (rule_expect_of(graph, op, ROI_ALIGN_MAP + l, graph->dtype, map_shape(detect, l, n, c),
                           err) != 0)
            return -1;
    return graph_set_output(graph, op, ROI_ALIGN_Y, graph->dtype,
                            shape_4(rows, detect->pooled, detect->pooled, c), err);
}

/* Makes a gradient for each map; gradients of other readers are added if they are given, which must
 * then be like the map. Labels and rows are as in the forward operator, so that the same rows are
 * skipped. */
int shape_roi_align_grad(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *detect = &op->attr.detect;
    int64_t rows = 0;
    if (expect_regions(graph, op, ROI_ALIGN_GRAD_ROI, &rows, err) != 0 ||
        rule_expect_rank(graph, op, ROI_ALIGN_GRAD_DY, graph->dtype, 4, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, ROI_ALIGN_GRAD_ROI, 0);
    int64_t c = rule_dim(graph, op, ROI_ALIGN_GRAD_DY, 3);
    if (rule_expect_of(graph, op, ROI_ALIGN_GRAD_DY, graph->dtype,
                       shape_4(rows, detect->pooled, detect->pooled, c), err) != 0)
        return -1;
    for (int l = 0; l < detect->levels; l++) {
        const struct shape map = map_shape(detect, l, n, c);
        if ((op->inputs[ROI_ALIGN_GRAD_BEFORE + l] != TENSOR_NONE &&
             rule_expect(graph, op, ROI_ALIGN_GRAD_BEFORE + l, graph->dtype, &map, err) != 0) ||
            graph_set_output(graph, op, ROI_ALIGN_GRAD_DMAP + l, graph->dtype, map, err) != 0)
            return -1;
    }
    return 0;
}

/* Fails unless logits and deltas are those of a box head with SLOTS rows for each of N pictures:
 * one logit for each class and the background, and four deltas for each, the background's
 * unused. */
static int expect_head(const struct graph *graph, const struct op *op, int64_t n, int64_t slots,
                       struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    int64_t classes = op->attr.detect.classes + 1;
    if (classes < 2)
        return error_set(err, EXIT_CODE_INTERNAL, "no class except the background");
    if (rule_expect_of(graph, op, BOX_LOSS_LOGITS, wide, shape_2(n * slots, classes), err) != 0)
        return -1;
    return rule_expect_of(graph, op, BOX_LOSS_DELTAS, wide, shape_2(n * slots, 4 * classes), err);
}

/* Inputs of the loss and of its gradient, which are the same. Labels have the shape [N, S], from
 * which the rows of the head follow. */
static int expect_box_loss(const struct graph *graph, const struct op *op, struct error *err) {
    if (rule_expect_rank(graph, op, BOX_LOSS_LABEL, DTYPE_I32, 2, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, BOX_LOSS_LABEL, 0),
            slots = rule_dim(graph, op, BOX_LOSS_LABEL, 1);
    if (expect_head(graph, op, n, slots, err) != 0)
        return -1;
    return rule_expect_of(graph, op, BOX_LOSS_TARGET, DTYPE_F32, shape_3(n, slots, 4), err);
}

/* The losses and their counts are one short vector (enum box_loss), in the wide type. */
int shape_box_loss(struct graph *graph, struct op *op, struct error *err) {
    if (expect_box_loss(graph, op, err) != 0)
        return -1;
    return graph_set_output(graph, op, BOX_LOSS_VALUES, dtype_wide(graph->dtype),
                            shape_1(BOX_LOSSES), err);
}

/* Both gradients have the type of activations, whatever the logits have. */
int shape_box_loss_grad(struct graph *graph, struct op *op, struct error *err) {
    if (expect_box_loss(graph, op, err) != 0)
        return -1;
    struct shape logits = rule_input(graph, op, BOX_LOSS_LOGITS)->shape;
    struct shape deltas = rule_input(graph, op, BOX_LOSS_DELTAS)->shape;
    if (graph_set_output(graph, op, BOX_LOSS_GRAD_DLOGITS, graph->dtype, logits, err) != 0)
        return -1;
    return graph_set_output(graph, op, BOX_LOSS_GRAD_DDELTAS, graph->dtype, deltas, err);
}

/* D slots for each picture, of which `count` are used. BOX_LOSS slots serve for the head here as
 * well: logits and deltas have the same numbers in both kinds (op_roi.h). */
int shape_detections(struct graph *graph, struct op *op, struct error *err) {
    int64_t found = op->attr.detect.detections;
    if (rule_expect_rank(graph, op, DETECTIONS_BOX, DTYPE_F32, 3, err) != 0)
        return -1;
    int64_t n = rule_dim(graph, op, DETECTIONS_BOX, 0),
            slots = rule_dim(graph, op, DETECTIONS_BOX, 1);
    if (expect_head(graph, op, n, slots, err) != 0 ||
        rule_expect_of(graph, op, DETECTIONS_BOX, DTYPE_F32, shape_3(n, slots, 4), err) != 0 ||
        rule_expect_of(graph, op, DETECTIONS_COUNT, DTYPE_I32, shape_1(n), err) != 0 ||
        rule_expect_of(graph, op, DETECTIONS_SIZE, DTYPE_I32, shape_2(n, IMAGE_SIZE_FIELDS), err) !=
            0)
        return -1;
    if (found < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "room for %d detections",
                         op->attr.detect.detections);
    if (graph_set_output(graph, op, DETECTIONS_FOUND_BOX, DTYPE_F32, shape_3(n, found, 4), err) !=
            0 ||
        graph_set_output(graph, op, DETECTIONS_FOUND_SCORE, DTYPE_F32, shape_2(n, found), err) !=
            0 ||
        graph_set_output(graph, op, DETECTIONS_FOUND_LABEL, DTYPE_I32, shape_2(n, found), err) != 0)
        return -1;
    return graph_set_output(graph, op, DETECTIONS_FOUND_COUNT, DTYPE_I32, shape_1(n), err);
}

/* Sums up what the three heads report: vectors of a few numbers, and the sizes of N pictures, by
 * which the valid ones are counted. */
int shape_total_loss(struct graph *graph, struct op *op, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    if (rule_expect_of(graph, op, TOTAL_LOSS_RPN, wide, shape_1(RPN_LOSSES), err) != 0 ||
        rule_expect_of(graph, op, TOTAL_LOSS_BOX, wide, shape_1(BOX_LOSSES), err) != 0 ||
        rule_expect_of(graph, op, TOTAL_LOSS_MASK, wide, shape_1(1), err) != 0 ||
        rule_expect_rank(graph, op, TOTAL_LOSS_SIZE, DTYPE_I32, 2, err) != 0 ||
        rule_expect_of(graph, op, TOTAL_LOSS_SIZE, DTYPE_I32,
                       shape_2(rule_dim(graph, op, TOTAL_LOSS_SIZE, 0), IMAGE_SIZE_FIELDS),
                       err) != 0)
        return -1;
    return graph_set_output(graph, op, TOTAL_LOSS_METRICS, wide, shape_1(DETECT_METRICS), err);
}
