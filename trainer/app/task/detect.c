/* Object detection: a COCO data set. */
#include "trainer/app/task/detect_data.h"
#include "trainer/app/task/detect_pictures.h"
#include "trainer/app/task/detect_predictions.h"
#include "trainer/app/task/detect_rules_io.h"
#include "trainer/app/task/detect_score.h"

static const struct metric_column columns[] = {
    {"bbox_mAP", "Box mAP", 1, 4},
    {"bbox_AP50", "Box AP50", 1, 4},
    {"segm_mAP", "Mask mAP", 1, 4},
    {"segm_AP50", "Mask AP50", 1, 4},
    {NULL, NULL, 0, 0},
};

/* The five losses whose sum is the loss. Six characters each: with them the table has 79 columns.
 */
static const struct metric_column row_columns[] = {
    {"loss_classifier", "Class", 1, 4},   {"loss_box_reg", "Box", 1, 4},
    {"loss_mask", "Mask", 1, 4},          {"loss_objectness", "Object", 1, 4},
    {"loss_rpn_box_reg", "RPNBox", 1, 4}, {NULL, NULL, 0, 0},
};

const struct task TASK_DETECT = {
    .open = detect_open,
    .close = detect_close,
    .describe = detect_describe,
    .record = detect_record,
    .fixed = DETECT_FIXED,
    .init_counts_classes = true,
    .dropped = "objects_dropped",
    .score_open = detect_score_open,
    .score_batch = detect_score_batch,
    .score_end = detect_score_end,
    .score_close = detect_score_close,
    .score_table = detect_score_table,
    .score_classes = detect_score_classes,
    .score_write = detect_score_write,
    .score_show = detect_score_show,
    .batch_show = detect_pictures_batch,
    .predictions_check = detect_predictions_check,
    .predictions_gather = detect_score_gather,
    .predictions_write = detect_score_predictions,
    .figure = detect_figure,
    .best = {"segm_mAP", "bbox_mAP"},
    .print = detect_print,
    .columns = columns,
    .row_columns = row_columns,
};
