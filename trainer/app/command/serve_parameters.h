/* A rank that keeps parameters instead of training (shard/shard_server.h): its threads, its answer
 * to stop requests, its marks of progress. */
#ifndef TRAINER_APP_COMMAND_SERVE_PARAMETERS_H
#define TRAINER_APP_COMMAND_SERVE_PARAMETERS_H

#include "common/error.h"
#include "common/exit_code.h"
#include "trainer/app/device/roles.h"
#include "trainer/app/options/options.h"

/* Serves until the workers have ended; *RET_CODE is theirs. */
int serve_parameters(const struct options *o, const struct roles *roles, enum exit_code *ret_code,
                     struct error *err);

#endif
