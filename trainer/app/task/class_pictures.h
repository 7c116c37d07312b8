/* Pictures of a classification network: its worst mistakes, for evaluation artifacts, each with its
 * class on a green plate, and below it the class that it is taken for, with the probability, on a
 * red one; and those of a batch, with their class. */
#ifndef TRAINER_APP_TASK_CLASS_PICTURES_H
#define TRAINER_APP_TASK_CLASS_PICTURES_H

#include "common/error.h"
#include "trainer/app/task/class_tally.h"
#include "trainer/app/task/task.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/dataset.h"

/* Hands at most SHOW->count pictures to SHOW->take, the worst mistake first, which has id 1. NAMES
 * has one name for each class of TALLY. A picture that cannot be read is warned of and left out. */
int class_pictures(const struct dataset *set, char *const *names, const struct class_tally *tally,
                   const struct task_show *show, struct error *err);

/* Hands the first pictures of BATCH, of SIDE x SIDE pixels and with labels, to SHOW->take; small
 * ones are enlarged. NAMES are those of the classes. */
int class_pictures_batch(const struct batch *batch, int side, char *const *names,
                         const struct task_show *show, struct error *err);

#endif
