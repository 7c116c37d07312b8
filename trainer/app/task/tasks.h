/* The tasks, by what a network learns; and what is the same for all of them. */
#ifndef TRAINER_APP_TASK_TASKS_H
#define TRAINER_APP_TASK_TASKS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/task.h"

const struct task *task_of(enum model_task task);

int task_open(struct task_data *ret, const struct task_request *request, struct error *err);
void task_close(struct task_data *data);

/* See print of struct task. */
int task_print(const struct task *task, struct buf *out, double epoch, const struct evaluation *e,
               struct error *err);

#endif
