/* `ringmaster metrics`: the metric definitions for CreateTrainingJob, as JSON. */
#ifndef ENTRYPOINT_COMMAND_METRICS_H
#define ENTRYPOINT_COMMAND_METRICS_H

#include "common/buf.h"
#include "common/error.h"

int metrics_print(struct buf *ret, struct error *err);

#endif
