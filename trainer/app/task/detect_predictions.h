/* What a network has found in pictures that nobody has labelled, as files:
 *
 *     OUT/predictions.json   a list that pycocotools' loadRes takes: image_id, category_id, bbox,
 *                            segmentation (runs), score; by image
 *     OUT/pictures.json      the pictures' ids, names and sizes and the categories, as COCO's JSON
 *                            without annotations: what loadRes is asked of
 *     OUT/NAME.jpg, .png     each picture with its objects painted over it (draw_targets.h)
 *
 * Ids of pictures are those of detect/picture_index.h. */
#ifndef TRAINER_APP_TASK_DETECT_PREDICTIONS_H
#define TRAINER_APP_TASK_DETECT_PREDICTIONS_H

#include "trainer/app/task/task.h"
#include "trainer/data/coco/coco_results.h"

/* As struct task has it. */
int detect_predictions_check(const struct task_data *data, const struct task_tell *how,
                             struct error *err);

/* FOUND is sorted, and loses what is below the least score. A line for each painted picture goes to
 * standard output. */
int detect_predictions(struct task_data *data, struct coco_results *found,
                       const struct task_tell *how, struct error *err);

#endif
