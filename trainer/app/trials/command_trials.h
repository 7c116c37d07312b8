/* The command `ringtrain trials`: a plan of configurations, tried on slices of the ranks. */
#ifndef TRAINER_APP_TRIALS_COMMAND_TRIALS_H
#define TRAINER_APP_TRIALS_COMMAND_TRIALS_H

#include "common/error.h"

#include <stdio.h>

int command_trials(int argc, char *const *argv, struct error *err);
void command_trials_help(FILE *out, int argc, char *const *argv);

#endif
