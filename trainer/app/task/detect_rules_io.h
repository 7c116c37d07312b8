/* Inference rules of a detector (models/detect_rules.h) in a model's description. */
#ifndef TRAINER_APP_TASK_DETECT_RULES_IO_H
#define TRAINER_APP_TASK_DETECT_RULES_IO_H

#include "trainer/app/task/task.h"
#include "trainer/models/detect_rules.h"

/* Uses the rules of the model that is scored, else PRESET's with the options applied. Trained
 * norms have the same epsilon in all presets; a preset's own applies to frozen norms only. */
int detect_settle_rules(struct detect_rules *ret, const char *preset,
                        const struct task_request *request, struct error *err);
void detect_describe_rules(const struct detect_rules *rules, struct model_config *ret);

/* Completes a description of an earlier version, which has no rules: adds those of its preset, and
 * the epsilon that all had, so that it equals a present description of the same model. */
void detect_complete_rules(struct model_config *config);

/* What a checkpoint records of a training, and the values that must not change (struct task). */
int detect_record(const struct task_data *data, struct buf *out, struct error *err);
extern const struct task_fixed DETECT_FIXED[];

#endif
