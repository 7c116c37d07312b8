/* The data of a network that finds objects: a COCO set to train on and one to score on, each laid
 * on a few canvases. */
#ifndef TRAINER_APP_TASK_DETECT_DATA_H
#define TRAINER_APP_TASK_DETECT_DATA_H

#include "common/error.h"
#include "trainer/app/task/detect_sets.h"
#include "trainer/app/task/task.h"

#include <stdbool.h>

/* As struct task has them. */
int detect_open(struct task_data *ret, const struct task_ask *ask, struct error *err);
void detect_close(struct task_data *data);
void detect_describe(const struct task_data *data, const struct task_ask *ask,
                     struct model_config *ret);

/* What a network of O has to know of a set that nobody has read: as described for one like COCO's,
 * trained from given weights. */
void detect_objects_unseen(struct model_objects *ret, const struct options *o);

/* How masks are pasted, */
enum mask_paste_rule detect_paste(const struct detect_data *d);
/* and whether boxes hold their last pixels. */
bool detect_last_pixel(const struct detect_data *d);

#endif
