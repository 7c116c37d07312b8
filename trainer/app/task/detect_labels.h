/* Labels of a detector and their categories. Labels are 1, 2, ... in the order of categories; or
 * they are the categories' ids, gaps included, as in the weights that torchvision calls COCO_V1:
 * 80 categories with ids up to 90, and 91 rows of logits. */
#ifndef TRAINER_APP_TASK_DETECT_LABELS_H
#define TRAINER_APP_TASK_DETECT_LABELS_H

#include "common/error.h"
#include "trainer/app/task/detect_sets.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/model_config.h"
#include "trainer/data/coco/coco_index.h"

#include <stdbool.h>

/* Collective. Chooses for a training: ids if the predictor in --init's file has a row for each id,
 * so that it can be kept. A file that cannot be read is only warned of; reading the weights will
 * report it. */
int detect_labels_choose(bool *ret_ids, const struct coco_index *index,
                         const struct task_request *request, struct error *err);
/* Returns the choice of a trained model. */
bool detect_labels_are_ids(const struct model_config *trained);

/* Sets the names of labels 1, 2, ... of SET as DATA's classes. */
int detect_labels_name(struct task_data *data, const struct detection_set *set, struct error *err);
/* Checks that both sets have the same categories with the same ids. */
int detect_labels_agree(const struct detect_part *a, const struct detect_part *b,
                        struct error *err);
/* Checks that the set has the categories of the model, with the same ids. */
int detect_labels_fit(const struct task_data *data, const struct model_config *trained,
                      const char *json, struct error *err);

#endif
