/* The command `ringtrain inspect plan`: prints a training step as compiled, without data. */
#ifndef TRAINER_APP_PLAN_COMMAND_INSPECT_PLAN_H
#define TRAINER_APP_PLAN_COMMAND_INSPECT_PLAN_H

#include "common/error.h"

#include <stdio.h>

int command_inspect_plan(int argc, char *const *argv, struct error *err);
void command_inspect_plan_help(FILE *out, int argc, char *const *argv);

#endif
