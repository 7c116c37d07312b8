#include "trainer/app/run/closing.h"

#include "common/log/log.h"
#include "trainer/app/run/best.h"

#include <inttypes.h>
#include <string.h>

static void log_speed(const struct training_run *job) {
    char text[REPORT_SUMMARY_MAX];
    report_summary(&job->reports.report, text);
    if (text[0] != '\0')
        log_info("%s", text);
}

void closing_log_stop(const struct training_run *job) {
    const struct run_state *s = &job->state;
    bool again = strcmp(job->setup.options->resume, "auto") == 0;
    if (!job->setup.first)
        return;
    if (job->saves.keeping.saved_step == s->step)
        log_info("stopped on request after step %" PRId64 "; the same command%s goes on from there",
                 s->step, again ? "" : " with --resume auto");
    else if (s->step > 0)
        log_info("stopped on request after step %" PRId64, s->step);
    else
        log_info("stopped on request before the first step");
    log_speed(job);
    best_log(job);
}

/* Suggests the next commands. */
static void log_next(const struct training_run *job) {
    const struct inputs *in = &job->setup.inputs;
    const bool best = job->saves.best.known && job->saves.best.score.step != job->state.step &&
                      job->setup.options->publish != OPTION_PUBLISH_BEST;
    const char *model = best ? job->saves.best.folder : in->model;
    const char *data = job->setup.options->data;
    if (in->out[0] != '\0' && job->setup.data.task->score_show != NULL && in->scored)
        log_info("detections of the evaluations are in %s, pictures in %s/pictures", in->out,
                 in->out);
    if (in->scored && !in->synthetic && data != NULL && job->setup.options->val_split == 0)
        log_info("next: ringtrain eval --model-dir %s --data %s", model, data);
    log_info("next: ringtrain predict --model-dir %s --out predictions PICTURE...", model);
}

void closing_sum_up(struct training_run *job) {
    if (!job->setup.first)
        return;
    log_speed(job);
    sample_health_sum_up(&job->setup.data.training, job->setup.data.bad_allowed);
    if (job->setup.data.validation.source.count > 0)
        sample_health_sum_up(&job->setup.data.validation, job->setup.data.bad_allowed);
    best_log(job);
    log_next(job);
}
