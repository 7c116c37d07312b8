/* `eval --watch`: scores each checkpoint of a training as it appears, beside the trainer. It ends
 * when the checkpoint of the training's last step is scored, when no next one comes for
 * --watch-patience, or when it is asked to stop. */
#ifndef TRAINER_APP_COMMAND_EVAL_WATCH_H
#define TRAINER_APP_COMMAND_EVAL_WATCH_H

#include "common/error.h"
#include "trainer/app/command/trained.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/run/report.h"

/* Whether the flags of eval go together. */
int eval_watch_check(const struct options *options, struct error *err);

/* All ranks together; TRAINED has its first five fields, REPORT and FINDINGS are empty: all three
 * are the caller's to be done with. Returns the exit code, or -1. */
int eval_watch(struct trained *trained, struct report *report, struct eval_artifacts *findings,
               struct error *err);

#endif
