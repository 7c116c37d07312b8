/* Table of the networks that can be trained: the function that builds each, its task, its metrics
 * and its default flags. To add one: a file that builds it, and a row in model.c.
 *
 * The inputs of a network have the names of the batch fields that fill them (dataset/batch.h). It
 * keeps one output "metrics", f32, computed from the samples of a batch that count; the row's list
 * says what it contains. */
#ifndef TRAINER_MODELS_MODEL_H
#define TRAINER_MODELS_MODEL_H

#include "common/error.h"
#include "trainer/models/model_types.h"

#include <stdbool.h>

/* Mean and standard deviation of ImageNet's pixels in 0..1, RGB, as torchvision's models expect. */
extern const double MODEL_MEAN[3];
extern const double MODEL_STD[3];

/* Returns NULL if there is none with that name. */
const struct model *model_find(const char *name);
/* The same, with an error (EXIT_CODE_USAGE) that lists the known ones. */
const struct model *model_need(const char *name, struct error *err);
/* Returns "resnet18, resnet34, ...", the networks for one of TASKS, for messages and help. */
const char *model_names(unsigned tasks);
/* Returns the verb for a task: "classify". */
const char *model_task_name(enum model_task task);

/* Returns how many metrics of the list are reported, for training steps only or in all. */
int model_metric_count(const struct model *model, bool of_steps);

#endif
