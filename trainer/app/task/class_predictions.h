/* Predictions of a classification network for pictures without labels. Reads the network's output
 * "logits", f32 [N, classes].
 *
 * OUT/predictions.json: {"model": NAME, "pictures": [{"file_name": PATH, "classes": [{"name":
 * CLASS, "index": its number from 0, "probability": P}, ...]}, ...]}, pictures in the given order,
 * classes by probability. Probabilities are the softmax of the logits, in f64. Unusable pictures
 * are left out. */
#ifndef TRAINER_APP_TASK_CLASS_PREDICTIONS_H
#define TRAINER_APP_TASK_CLASS_PREDICTIONS_H

#include "trainer/app/task/task.h"
#include "trainer/data/dataset/dataset.h"

/* CONFIG and SET are borrowed. The other functions are those of struct task. */
int class_predictions_open(const struct model_config *config, const struct dataset *set,
                           void **ret_score, struct error *err);
int class_predictions_batch(void *score, const struct batch *batch,
                            const struct task_outputs *outputs, int64_t *ret_images,
                            struct error *err);
int class_predictions_gather(void *score, struct comm *comm, struct error *err);
void class_predictions_close(void *score);
int class_predictions_check(const struct task_data *data, const struct task_predictions *how,
                            struct error *err);
int class_predictions_write(void *score, const struct task_predictions *how, struct error *err);

#endif
