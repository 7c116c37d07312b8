/* The networks that can be trained, as one table: what builds each, what it learns, what it tells
 * of a batch, and what suits it. Adding one: a file that builds it, and a row in model.c.
 *
 * The inputs of a network have names, under which a batch's fields reach them (dataset/batch.h). It
 * keeps one output "metrics", f32, which it fills from the samples of a batch that count; what is
 * in there says the row's list. */
#ifndef TRAINER_MODELS_MODEL_H
#define TRAINER_MODELS_MODEL_H

#include "common/error.h"
#include "trainer/models/model_types.h"

#include <stdbool.h>

/* Mean and deviation of ImageNet's pixels in 0..1, RGB: what torchvision's models expect. */
extern const double MODEL_MEAN[3];
extern const double MODEL_STD[3];

/* NULL where there is none of that name. */
const struct model *model_find(const char *name);
/* The same; an error (EXIT_CODE_USAGE) names those that there are. */
const struct model *model_need(const char *name, struct error *err);
/* "resnet18, resnet34, ..." of those that learn one of TASKS, for messages and help. */
const char *model_names(unsigned tasks);
/* The word for a task: "classify". */
const char *model_task_name(enum model_task task);

/* How many metrics of the list are told, of training steps alone or in all. */
int model_metric_count(const struct model *model, bool of_steps);

#endif
