/* A few pictures of a scored set, the truth on the left and what was found on the right. */
#ifndef TRAINER_APP_TASK_DETECT_PICTURES_H
#define TRAINER_APP_TASK_DETECT_PICTURES_H

#include "trainer/app/task/detect_data.h"
#include "trainer/data/coco/coco_results.h"

/* Of the validation set; FOUND has its results. Pictures with objects come first; among them the
 * choice hangs on the seed and on the picture's number in the set alone. They are handed over in
 * the set's order. One that cannot be read or painted is warned of and left out. */
int detect_pictures(struct detect_data *d, const struct coco_results *found,
                    const struct task_show *show, struct error *err);

#endif
