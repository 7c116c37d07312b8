#include "run/closing.h"

#include "common/log.h"
#include "run/best.h"

#include <inttypes.h>
#include <string.h>

static void tell_speed(const struct job *job) {
    char text[REPORT_SUMMARY_MAX];
    report_summary(&job->report, text);
    if (text[0] != '\0')
        log_info("%s", text);
}

void closing_tell_stop(const struct job *job) {
    const struct run_state *s = &job->state;
    bool again = strcmp(job->options->resume, "auto") == 0;
    if (!job->first)
        return;
    if (job->keeping.saved_step == s->step)
        log_info("stopped as asked after step %" PRId64 "; the same command%s goes on from there",
                 s->step, again ? "" : " with --resume auto");
    else if (s->step > 0)
        log_info("stopped as asked after step %" PRId64, s->step);
    else
        log_info("stopped as asked before the first step");
    tell_speed(job);
    best_tell(job);
}

void closing_sum_up(struct job *job) {
    if (!job->first)
        return;
    tell_speed(job);
    samples_sum_up(&job->data.training, job->data.bad_allowed);
    if (job->data.validation.source.count > 0)
        samples_sum_up(&job->data.validation, job->data.bad_allowed);
    best_tell(job);
}
