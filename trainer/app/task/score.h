/* Score of a running evaluation: batch by batch on each rank, then all ranks together, as the task
 * defines it. */
#ifndef TRAINER_APP_TASK_SCORE_H
#define TRAINER_APP_TASK_SCORE_H

#include "common/error.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"

struct score {
    struct task_data *data; /* borrowed */
    double totals[MODEL_METRICS_MAX];
    void *own; /* the task's */
};

int score_open(struct score *score, struct task_data *data, struct error *err);
void score_close(struct score *score);

/* Adds the number of scored pictures to *RET_IMAGES. */
int score_batch(struct score *score, const struct batch *batch, const struct task_outputs *outputs,
                int64_t *ret_images, struct error *err);
/* Collective. Appends the metrics to RET, in which the number of images that all ranks have
 * scored, at least one, is set. */
int score_end(struct score *score, struct comm *comm, struct evaluation *ret, struct error *err);

/* Appends a metric to E, which has room for EVALUATION_FIGURES_MAX. NAME is borrowed. */
void evaluation_add(struct evaluation *e, const char *name, double value);
/* Returns the metric NAME; 0 if there is none. */
double evaluation_figure(const struct evaluation *e, const char *name);
/* Returns false if the metric NAME has the same value for every model: top-5 of five classes or
 * fewer. */
bool evaluation_says(const struct evaluation *e, const char *name);
/* Returns the name of metric I among those that are means of MODEL's metrics; NULL after the
 * last. */
const char *evaluation_name(const struct model *model, int i);

/* Logits of one batch of a classification network: its output "logits", f32 [N, classes]. Zeroed
 * before the first batch. */
struct score_logits {
    float *values; /* owned; of the batch that was read last */
    size_t bytes;
};

void score_logits_done(struct score_logits *logits);

/* Reads the logits of BATCH. EXIT_CODE_INTERNAL if OUTPUTS have none of CLASSES classes, or not one
 * row for each picture. */
int score_logits_read(struct score_logits *logits, const struct task_outputs *outputs,
                      const struct batch *batch, size_t classes, struct error *err);

#endif
