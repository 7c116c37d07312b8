/* Reports of a job's progress to Kubeflow Trainer.
 *
 * The Trainer writes them, with the time left, into the TrainJob's status (Kubeflow Trainer 2.2,
 * feature gate TrainJobStatus).
 *
 * Where the three variables KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN are set, the first
 * host reports when the step of its ranks (common/system/progress.h) has changed, at most every
 * TRAINER_STATUS_SECONDS, and a last time after a good end. Each report is a process of its own
 * with a deadline (transfer/status_order.h), and nothing waits for it. */
#ifndef ENTRYPOINT_HOST_PROVISION_TRAINER_STATUS_H
#define ENTRYPOINT_HOST_PROVISION_TRAINER_STATUS_H

#include "common/system/progress.h"
#include "entrypoint/host/ranks/progress_line.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The server takes one report in 5 s. */
enum { TRAINER_STATUS_SECONDS = 10, TRAINER_STATUS_PAUSE_MAX = 320 };

struct trainer_status {
    const struct services *services; /* NULL: nothing is reported */
    const struct rank_set *ranks;
    struct timer look;
    struct progress_pace pace;
    struct subprocess task;
    uint64_t step;   /* of the last report */
    uint64_t marks;  /* and its marks; 0: none yet */
    int64_t seconds; /* until the next look: longer after failures */
    bool fails;      /* the last report did, and the log says so */
};

/* Begins to report, where the variables are there and this host is the first. Variables that cannot
 * be meant are a warning. T may be zeroed, as for all of these. */
void trainer_status_open(struct trainer_status *t, const struct services *services,
                         const struct rank_set *ranks);
/* No more reports but a last one, after an end with CODE 0. */
void trainer_status_conclude(struct trainer_status *t, int code);
void trainer_status_close(struct trainer_status *t);

/* Returns the report: {trainerStatus: {progressPercentage, estimatedRemainingSeconds, metrics,
 * lastUpdatedTime}}. What is not known is left out. LEFT: seconds; below 0: not known. NOW is of
 * CLOCK_REALTIME. */
json_t *trainer_status_body(const struct progress_state *state, double left, time_t now);

#endif
