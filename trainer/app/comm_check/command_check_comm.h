/* `ringtrain check-comm`, a check of the connections between hosts. `ringmaster check --mpi` and
 * `--nccl` run it on all of them. */
#ifndef TRAINER_APP_COMM_CHECK_COMMAND_CHECK_COMM_H
#define TRAINER_APP_COMM_CHECK_COMMAND_CHECK_COMM_H

#include "common/error.h"

#include <stdio.h>

int command_check_comm(int argc, char *const *argv, struct error *err);
void command_check_comm_help(FILE *out, int argc, char *const *argv);

#endif
