/* `ringtrain inspect data DIR`, called by the `inspect` of command.h. */
#ifndef TRAINER_APP_COMMAND_COMMAND_INSPECT_DATA_H
#define TRAINER_APP_COMMAND_COMMAND_INSPECT_DATA_H

#include "common/error.h"

#include <stdio.h>

int command_inspect_data(int argc, char *const *argv, struct error *err);
void command_inspect_data_help(FILE *out);

#endif
