#include "run/keep.h"

#include "common/clock.h"
#include "run/job.h"
#include "run/save.h"
#include "run/statistics.h"

/* How long one may take before the run counts as stalled, in seconds. */
enum { SAVE_PATIENCE = 1200 };

int keep_open(struct keeping *k, const char *every, struct error *err) {
    *k = (struct keeping){.since = clock_now(), .saved_step = -1};
    return interval_parse(&k->every, every, err) != 0 ? error_wrap(err, "--checkpoint-every") : 0;
}

bool keep_falls_on(const struct keeping *k, int64_t number) {
    return k->every.steps > 0 && number % k->every.steps == 0;
}

bool keep_is_due(const struct keeping *k, int64_t step) {
    return k->saved_step != step && (k->asked || keep_falls_on(k, step));
}

bool keep_is_time(const struct keeping *k) {
    return k->every.nanoseconds > 0 && clock_now() - k->since >= k->every.nanoseconds;
}

int keep_checkpoint(struct job *job, struct error *err) {
    struct keeping *k = &job->keeping;
    cleanup_statistics struct statistics statistics = {0};
    k->asked = false;
    if (k->saved_step == job->state.step)
        return 0;
    progress_mark(&job->progress, (uint64_t)job->state.step, SAVE_PATIENCE);
    if (job->state.images == 0 && statistics_average(job, err) != 0)
        return -1;
    if (job->own_statistics && comm_size(job->comm) > 1 &&
        statistics_gather(&statistics, job, err) != 0)
        return -1;
    if (save_checkpoint(job, &statistics, err) != 0)
        return -1;
    k->saved_step = job->state.step;
    k->since = clock_now();
    return 0;
}
