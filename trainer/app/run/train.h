/* Main loop of `ringtrain train`: steps until the end of the schedule or a request to stop, an
 * evaluation and a checkpoint after each epoch, and the finished model at the end. */
#ifndef TRAINER_APP_RUN_TRAIN_H
#define TRAINER_APP_RUN_TRAIN_H

#include "common/error.h"
#include "common/exit_code.h"
#include "trainer/app/device/roles.h"
#include "trainer/app/options/options.h"

/* For ranks that train. *RET_CODE is EXIT_CODE_OK, or EXIT_CODE_STOPPED if a stop was requested
 * before the end and a checkpoint was saved. */
int train(const struct options *o, const struct roles *roles, enum exit_code *ret_code,
          struct error *err);

#endif
