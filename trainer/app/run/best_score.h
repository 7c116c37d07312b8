/* Best evaluation score of a training so far. With it are kept the metric it refers to, and the
 * folder of its model. The model's config.json records the score, so that a resumed run knows it.
 */
#ifndef TRAINER_APP_RUN_BEST_SCORE_H
#define TRAINER_APP_RUN_BEST_SCORE_H

#include "common/error.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/model_config.h"

#include <stdbool.h>

struct best {
    char folder[INPUT_PATH_MAX];    /* ""; no model is kept */
    char metric[MODEL_METRIC_SIZE]; /* "": the first metric of the task that an evaluation
                                     * reports */
    bool known;
    struct model_score score;
    double epoch;
};

/* ASKED is --keep-best, CHECKPOINTS the folder that will hold the model's folder. Fails with
 * EXIT_CODE_USAGE if no evaluation of MODEL reports that metric. */
int best_open(struct best *b, const char *asked, const char *checkpoints, const struct model *model,
              struct error *err);

/* Returns the name of the metric of E that is compared, or NULL. */
const char *best_metric(const struct best *b, const struct task *task, const struct evaluation *e);

/* Returns true if SCORE is better than the best score so far. */
bool best_is_better(const struct best *b, const struct model_score *score);

/* Reads the score of the model in the folder, if it belongs to the lineage that the run continues,
 * at or before the position where it resumes. COURSE and SAMPLES are those of run_state.h. Warns
 * of a model that cannot be read. */
void best_resume(struct best *b, int64_t lineage, int64_t samples);

#endif
