/* Sample pictures of a detection's scored set or training batch. Those of a scored set have ground
 * truth on the left and predictions on the right. */
#ifndef TRAINER_APP_TASK_DETECT_PICTURES_H
#define TRAINER_APP_TASK_DETECT_PICTURES_H

#include "trainer/app/task/detect_data.h"
#include "trainer/data/coco/coco_results.h"

/* Draws pictures of the validation set; FOUND has its results. Pictures with objects come first;
 * among them the choice depends only on the seed and the picture's number. They are passed on in
 * the set's order. A picture that cannot be read or drawn is warned of and left out. */
int detect_pictures(struct detect_data *d, const struct coco_results *found,
                    const struct task_show *show, struct error *err);

/* batch_show of struct task: resized and mirrored, with the boxes of the objects. */
int detect_pictures_batch(const struct task_data *data, const struct batch *batch,
                          const struct task_show *show, struct error *err);

#endif
