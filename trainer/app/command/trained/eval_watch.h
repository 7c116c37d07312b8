/* The command `ringtrain eval --watch`: scores each checkpoint of a training as it appears, beside
 * the trainer. It ends when the last step's checkpoint is scored, when none arrives within
 * --watch-patience, or on a stop request. */
#ifndef TRAINER_APP_COMMAND_TRAINED_EVAL_WATCH_H
#define TRAINER_APP_COMMAND_TRAINED_EVAL_WATCH_H

#include "common/error.h"
#include "trainer/app/command/trained/trained.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/run/report.h"

/* Fails if eval's flags contradict each other. */
int eval_watch_check(const struct options *options, struct error *err);

/* Collective. TRAINED has its first five fields set, REPORT and ARTIFACTS are empty; the caller
 * closes all three. Returns the exit code, or -1. */
int eval_watch(struct trained *trained, struct report *report, struct eval_artifacts *artifacts,
               struct error *err);

#endif
