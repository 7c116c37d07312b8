/* Check of the trainer's flags for `ringmaster plan` and `ringmaster check`.
 *
 * Neither starts a trainer that would refuse a mistyped flag: `ringtrain train --help` says which
 * flags there are. */
#ifndef ENTRYPOINT_COMMAND_TRAINER_FLAGS_H
#define ENTRYPOINT_COMMAND_TRAINER_FLAGS_H

#include "common/error.h"
#include "entrypoint/job/job.h"

/* Fails with EXIT_CODE_USAGE for a flag or hyperparameter that the trainer does not know, and
 * offers the nearest one. Nothing is wrong where the job runs another program, or the trainer does
 * not answer. */
int trainer_flags_check(const struct job *job, struct error *err);

#endif
