/* Predictions of a detection network for pictures without labels, as files:
 *
 *     OUT/predictions.json   a list for pycocotools' loadRes: image_id, category_id, bbox,
 *                            segmentation (run-length encoded), score; sorted by image
 *     OUT/pictures.json      ids, names and sizes of the pictures, and the categories, as
 *                            COCO's JSON without annotations: the data set for loadRes
 *     OUT/NAME.jpg, .png     each picture with its objects drawn over it (draw_targets.h)
 *
 * Ids of pictures are those of detect/picture_index.h. */
#ifndef TRAINER_APP_TASK_DETECT_PREDICTIONS_H
#define TRAINER_APP_TASK_DETECT_PREDICTIONS_H

#include "trainer/app/task/task.h"
#include "trainer/data/coco/coco_results.h"

/* Function of struct task. */
int detect_predictions_check(const struct task_data *data, const struct task_predictions *how,
                             struct error *err);

/* FOUND must be sorted; results below the least score are removed from it. Prints a line for each
 * drawn picture on standard output. */
int detect_predictions(struct task_data *data, struct coco_results *found,
                       const struct task_predictions *how, struct error *err);

#endif
