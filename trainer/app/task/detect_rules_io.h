/* The rules that a detector is used by (models/detect_rules.h), and how a model's description tells
 * of them. */
#ifndef TRAINER_APP_TASK_DETECT_RULES_IO_H
#define TRAINER_APP_TASK_DETECT_RULES_IO_H

#include "trainer/app/task/task.h"
#include "trainer/models/detect_rules.h"

/* Those of the model that is scored, else PRESET's with what the options say. Norms that are
 * trained have an epsilon, whatever a preset says of those that are constant. */
int detect_settle_rules(struct detect_rules *ret, const char *preset, const struct task_ask *ask,
                        struct error *err);
void detect_describe_rules(const struct detect_rules *rules, struct model_config *ret);

/* A description of an earlier version tells of no rules: it gets those of its preset, and
 * the epsilon that all had, so that it is the same as one that tells of them. */
void detect_complete_rules(struct model_config *config);

/* What a checkpoint records of a training, and which of it stays (struct task). */
int detect_record(const struct task_data *data, struct buf *out, struct error *err);
extern const struct task_fixed DETECT_FIXED[];

#endif
