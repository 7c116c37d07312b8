/* The best evaluation of a training so far: by which figure, what it was, and where the model of it
 * lies. What is kept there tells its score itself, so that a run that goes on knows it. */
#ifndef TRAINER_APP_RUN_BEST_SCORE_H
#define TRAINER_APP_RUN_BEST_SCORE_H

#include "common/error.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/model_config.h"

#include <stdbool.h>

struct best {
    char folder[INPUT_PATH_MAX];    /* ""; nothing is kept */
    char metric[MODEL_METRIC_SIZE]; /* "": the first of the task's that an evaluation tells */
    bool known;
    struct model_score score;
    double epoch;
};

/* ASKED is --keep-best, CHECKPOINTS the folder below which the model goes. EXIT_CODE_USAGE where
 * no evaluation of MODEL tells such a figure. */
int best_open(struct best *b, const char *asked, const char *checkpoints, const struct model *model,
              struct error *err);

/* Which figure of E counts; NULL: none. */
const char *best_metric(const struct best *b, const struct task *task, const struct evaluation *e);

/* Whether SCORE is better than what is known. */
bool best_is_better(const struct best *b, const struct model_score *score);

/* What the folder holds becomes known, where it is of the course that a run goes on with, at or
 * before its place; COURSE and SAMPLES are of run_state.h. What cannot be read is warned of. */
void best_resume(struct best *b, int64_t course, int64_t samples);

#endif
