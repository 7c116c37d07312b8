/* Heads on regions (He et al. 2017, section 3): sampling of regions, the box head (two hidden
 * layers on 7 x 7) and the mask head (convolutions on 14 x 14, a transposed one, one logit per
 * pixel of the region's own class). */
#include "trainer/graph/build/build.h"
#include "trainer/models/detector.h"

#include <stdio.h>

enum { BOX_SIDE = 7, MASK_ROI_SIDE = MASKRCNN_MASK_SIDE / 2 };

/* Regions as the heads get them: ROW is TENSOR_NONE, or selects rows of them. */
struct regions {
    int roi, label, row;
};

static int align(const struct detector *d, const char *name, const struct regions *regions,
                 int pooled) {
    struct op_attr attr = {.detect = d->regions};
    int inputs[ROI_ALIGN_INPUTS], outputs[OP_OUTPUTS_MAX];
    for (int i = 0; i < ROI_LEVELS_MAX; i++)
        inputs[ROI_ALIGN_MAP + i] = d->maps[i];
    inputs[ROI_ALIGN_ROI] = regions->roi;
    inputs[ROI_ALIGN_LABEL] = regions->label;
    inputs[ROI_ALIGN_ROW] = regions->row;
    attr.detect.pooled = pooled;
    detector_op(d, OP_ROI_ALIGN, name, inputs, &attr, outputs);
    return outputs[ROI_ALIGN_Y];
}

/* Outputs activations [R, classes + 1] and [R, 4 * (classes + 1)]. */
static void box_head(const struct detector *d, const struct regions *regions, int *ret_logits,
                     int *ret_deltas) {
    static const char fc6[] = "roi_heads.box_head.fc6", fc7[] = "roi_heads.box_head.fc7",
                      cls[] = "roi_heads.box_predictor.cls_score",
                      box[] = "roi_heads.box_predictor.bbox_pred";
    const int hidden = d->family->hidden, classes = d->config->classes + 1;
    int x = align(d, "roi_heads.box_align", regions, BOX_SIDE);
    struct graph_weights w =
        graph_linear_map_weights(d->graph, fc6, BOX_SIDE, d->family->pyramid, hidden);
    x = graph_linear_hidden_with(d->graph, fc6, x, &w, true);
    w = graph_linear_weights(d->graph, fc7, hidden, hidden);
    x = graph_linear_hidden_with(d->graph, fc7, x, &w, true);
    *ret_logits = graph_linear(d->graph, cls, x, classes);
    *ret_deltas = graph_linear(d->graph, box, x, (int64_t)4 * classes);
}

/* Outputs activations [R, 28, 28]: logits of each row's class. */
static int mask_head(const struct detector *d, const struct regions *regions, int row_label) {
    static const char deconv[] = "roi_heads.mask_predictor.conv5_mask",
                      logits[] = "roi_heads.mask_predictor.mask_fcn_logits";
    const struct op_window three = {.kernel = 3, .stride = 1, .pad = 1};
    const struct op_window twice = {.kernel = 2, .stride = 2};
    const int channels = d->family->pyramid;
    int outputs[OP_OUTPUTS_MAX];
    int x = align(d, "roi_heads.mask_align", regions, MASK_ROI_SIDE);
    for (int i = 0; i < d->family->mask_convs; i++) {
        char name[TENSOR_NAME_SIZE];
        (void)snprintf(name, sizeof(name), "roi_heads.mask_head.%d.0", i);
        struct graph_weights w =
            detector_conv_weights(d, name, channels, channels, 3, INIT_NORMAL_FAN_OUT);
        x = graph_conv2d_bias_with(d->graph, name, x, &w, three, true);
    }
    x = graph_conv_transpose2d(d->graph, deconv, x, channels, channels, twice, true);
    struct graph_weights w =
        graph_conv2d_weights(d->graph, logits, channels, d->config->classes + 1, 1);
    w.bias =
        graph_bias_parameter(d->graph, logits, d->config->classes + 1, INIT_UNIFORM_BIAS, channels);
    const struct op_attr attr = {.detect = d->regions};
    const int inputs[CLASS_CONV_INPUTS] = {x, w.weight, w.bias, row_label};
    detector_op(d, OP_CLASS_CONV, logits, inputs, &attr, outputs);
    return outputs[CLASS_CONV_Y];
}

/* Computes the mask loss on the rows of the batch that have a mask, which come first. */
static int learn_masks(const struct detector *d, const int targets[OP_OUTPUTS_MAX]) {
    struct op_attr attr = {.gradient_scale = 1, .detect = d->regions};
    int rows[OP_OUTPUTS_MAX], masks[OP_OUTPUTS_MAX], loss[OP_OUTPUTS_MAX];
    attr.detect.pooled = MASKRCNN_MASK_SIDE;
    const int of_rows[MASK_ROWS_INPUTS] = {targets[ROI_TARGETS_LABEL], targets[ROI_TARGETS_MATCH],
                                           d->t->gt_mask_at};
    detector_op(d, OP_MASK_ROWS, "roi_heads.mask_rows", of_rows, &attr, rows);
    const struct regions regions = {
        .roi = targets[ROI_TARGETS_ROI], .label = TENSOR_NONE, .row = rows[MASK_ROWS_ROW]};
    graph_rows(d->graph, rows[MASK_ROWS_COUNT]);
    const int of_masks[MASK_TARGETS_INPUTS] = {[MASK_TARGETS_ROI] = targets[ROI_TARGETS_ROI],
                                               [MASK_TARGETS_MATCH] = targets[ROI_TARGETS_MATCH],
                                               [MASK_TARGETS_ROW] = rows[MASK_ROWS_ROW],
                                               [MASK_TARGETS_AT] = d->t->gt_mask_at,
                                               [MASK_TARGETS_BITS] = d->t->mask_bits,
                                               [MASK_TARGETS_SIZE] = d->t->image_size,
                                               [MASK_TARGETS_PARTS] = d->t->gt_parts,
                                               [MASK_TARGETS_PART] = d->t->polygon,
                                               [MASK_TARGETS_POINT] = d->t->point};
    attr.detect.min_side = d->preset->mask_side;
    detector_op(d, OP_MASK_TARGETS, "roi_heads.mask_targets", of_masks, &attr, masks);
    int logits = mask_head(d, &regions, rows[MASK_ROWS_MASK_LABEL]);
    graph_rows(d->graph, TENSOR_NONE);
    const int of_loss[MASK_LOSS_INPUTS] = {logits, masks[MASK_TARGETS_T], rows[MASK_ROWS_COUNT]};
    detector_op(d, OP_MASK_LOSS, "roi_heads.mask_loss", of_loss, &attr, loss);
    graph_loss(d->graph, loss[MASK_LOSS_VALUE]);
    return loss[MASK_LOSS_VALUE];
}

void detector_learn(const struct detector *d, const struct detector_proposals *proposals) {
    const struct op_attr attr = {.gradient_scale = 1, .detect = d->regions};
    int targets[OP_OUTPUTS_MAX], box[OP_OUTPUTS_MAX], total[OP_OUTPUTS_MAX], logits, deltas;
    const int of_targets[ROI_TARGETS_INPUTS] = {proposals->box, proposals->count, d->t->gt_box,
                                                d->t->gt_label, d->t->gt_count,   d->t->key};
    detector_op(d, OP_ROI_TARGETS, "roi_heads.targets", of_targets, &attr, targets);
    const struct regions regions = {
        .roi = targets[ROI_TARGETS_ROI], .label = targets[ROI_TARGETS_LABEL], .row = TENSOR_NONE};
    box_head(d, &regions, &logits, &deltas);
    const int of_box[BOX_LOSS_INPUTS] = {logits, deltas, targets[ROI_TARGETS_LABEL],
                                         targets[ROI_TARGETS_TARGET]};
    detector_op(d, OP_BOX_LOSS, "roi_heads.box_loss", of_box, &attr, box);
    graph_loss(d->graph, box[BOX_LOSS_VALUES]);
    const int of_total[TOTAL_LOSS_INPUTS] = {proposals->losses, box[BOX_LOSS_VALUES],
                                             learn_masks(d, targets), d->t->image_size};
    detector_op(d, OP_TOTAL_LOSS, "total_loss", of_total, &attr, total);
    d->t->metrics = graph_keep(d->graph, total[TOTAL_LOSS_METRICS], "metrics");
}

void detector_find(const struct detector *d, const struct detector_proposals *proposals) {
    const struct op_attr attr = {.detect = d->regions};
    struct regions regions = {.roi = proposals->box, .label = TENSOR_NONE, .row = TENSOR_NONE};
    int found[OP_OUTPUTS_MAX], logits, deltas;
    box_head(d, &regions, &logits, &deltas);
    const int of_found[DETECTIONS_INPUTS] = {logits, deltas, proposals->box, proposals->count,
                                             d->t->image_size};
    detector_op(d, OP_DETECTIONS, "roi_heads.detections", of_found, &attr, found);
    d->t->found_box = graph_keep(d->graph, found[DETECTIONS_FOUND_BOX], "found_box");
    d->t->found_score = graph_keep(d->graph, found[DETECTIONS_FOUND_SCORE], "found_score");
    d->t->found_label = graph_keep(d->graph, found[DETECTIONS_FOUND_LABEL], "found_label");
    d->t->found_count = graph_keep(d->graph, found[DETECTIONS_FOUND_COUNT], "found_count");
    d->t->found_nan = graph_keep(d->graph, proposals->nan, "found_nan");
    regions.roi = found[DETECTIONS_FOUND_BOX];
    regions.label = found[DETECTIONS_FOUND_LABEL];
    d->t->found_mask =
        graph_keep(d->graph, mask_head(d, &regions, found[DETECTIONS_FOUND_LABEL]), "found_mask");
}
