/* The labels of what a detector finds, and the categories that they stand for. Labels go from 1 on
 * in the order of categories; or they are the categories' ids, gaps included, as in the weights
 * that torchvision calls COCO_V1: 80 categories with ids up to 90, and 91 rows of logits. */
#ifndef TRAINER_APP_TASK_DETECT_LABELS_H
#define TRAINER_APP_TASK_DETECT_LABELS_H

#include "common/error.h"
#include "trainer/app/task/detect_sets.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/model_config.h"
#include "trainer/data/coco/coco_index.h"

#include <stdbool.h>

/* Of a training: ids where the predictor in --init's file has a row for each, which then can stay.
 * All ranks together; a file that cannot be read is told of by who reads the weights. */
int detect_labels_choose(bool *ret_ids, const struct coco_index *index, const struct task_ask *ask,
                         struct error *err);
/* Of a model. */
bool detect_labels_are_ids(const struct model_config *trained);

/* The names of labels 1, 2, ... of SET, as DATA's classes. */
int detect_labels_name(struct task_data *data, const struct detection_set *set, struct error *err);
/* Both sets have the same categories under the same ids. */
int detect_labels_agree(const struct detect_part *a, const struct detect_part *b,
                        struct error *err);
/* The set has the categories that the model has learnt, under the same ids. */
int detect_labels_fit(const struct task_data *data, const struct model_config *trained,
                      const char *json, struct error *err);

#endif
