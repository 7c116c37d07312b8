/* Waiting for data without growing deaf: the next batch, the end, or a request to stop. */
#ifndef TRAINER_APP_RUN_WAIT_H
#define TRAINER_APP_RUN_WAIT_H

#include "common/error.h"
#include "trainer/data/set/loader.h"

enum wait_result {
    WAIT_ERROR = -1,
    WAIT_BATCH = 0,
    WAIT_END = 1,
    WAIT_STOP = 2,
    WAIT_BAD = 3, /* like an error, but of the data: all else is well, a checkpoint can be saved */
};

/* Data that does not come within this time is an error. */
enum { WAIT_DATA_SECONDS = 600 };

enum wait_result wait_batch(struct loader *loader, const struct batch **ret, struct error *err);

#endif
