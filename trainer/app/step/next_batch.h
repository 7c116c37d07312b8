/* Wait for a loader's next batch. The end of the data or a request to stop ends the wait too. */
#ifndef TRAINER_APP_STEP_NEXT_BATCH_H
#define TRAINER_APP_STEP_NEXT_BATCH_H

#include "common/error.h"
#include "trainer/data/dataset/loader.h"

enum next_batch_result {
    NEXT_BATCH_ERROR = -1,
    NEXT_BATCH_BATCH = 0,
    NEXT_BATCH_END = 1,
    NEXT_BATCH_STOP = 2,
    NEXT_BATCH_BAD = 3, /* the data failed; all else is well and a checkpoint can be saved */
};

/* Fail if no data arrives within this time. */
enum { NEXT_BATCH_DATA_SECONDS = 600 };

enum next_batch_result next_batch_batch(struct loader *loader, const struct batch **ret,
                                        struct error *err);

#endif
