/* Reader of the event files of earlier runs in a folder. It finds out what TensorBoard would show
 * of them. */
#ifndef TRAINER_TELEMETRY_TFEVENTS_READ_H
#define TRAINER_TELEMETRY_TFEVENTS_READ_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets *RET to whether a scalar of STEP with a tag that begins with PREFIX is in FOLDER and no
 * later run has begun at STEP or before it (tfevents_start). A folder that is absent holds none.
 * What is cut short or is no record ends its file. */
int tfevents_holds(const char *folder, int64_t step, const char *prefix, bool *ret,
                   struct error *err);

#endif
