/* The command `ringtrain scaling`: one job at several numbers of ranks, and a report of it. */
#ifndef TRAINER_APP_SCALING_COMMAND_SCALING_H
#define TRAINER_APP_SCALING_COMMAND_SCALING_H

#include "common/error.h"

#include <stdio.h>

int command_scaling(int argc, char *const *argv, struct error *err);
void command_scaling_help(FILE *out, int argc, char *const *argv);

#endif
