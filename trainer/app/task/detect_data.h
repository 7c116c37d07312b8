/* Data of a detection network: a COCO set for training and one for validation, each on a few
 * canvases. */
#ifndef TRAINER_APP_TASK_DETECT_DATA_H
#define TRAINER_APP_TASK_DETECT_DATA_H

#include "common/error.h"
#include "trainer/app/task/detect_sets.h"
#include "trainer/app/task/task.h"

#include <stdbool.h>

/* Functions of struct task. */
int detect_open(struct task_data *ret, const struct task_request *request, struct error *err);
void detect_close(struct task_data *data);
void detect_describe(const struct task_data *data, const struct task_request *request,
                     struct model_config *ret);

/* Describes objects for a network of O without a data set: as for one like COCO's, starting from
 * given weights. */
void detect_objects_unseen(struct model_objects *ret, const struct options *o);

/* Returns how masks are pasted. */
enum mask_paste_rule detect_paste(const struct detect_data *d);
/* Returns true if boxes include their last pixels. */
bool detect_last_pixel(const struct detect_data *d);

#endif
