#include "trainer/app/run/best.h"

#include "common/log/log.h"
#include "trainer/app/run/save.h"
#include "trainer/checkpoint/model_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Rounds VALUE as config.json does, so that a resumed run compares with the same number. */
static double as_kept(double value) {
    char text[40];
    (void)snprintf(text, sizeof(text), "%.9g", value);
    return strtod(text, NULL);
}

int best_take(struct training_run *job, const struct evaluation *e, struct error *err) {
    struct best *b = &job->saves.best;
    const struct run_state *s = &job->state;
    const char *metric = best_metric(b, job->setup.data.task, e);
    if (!job->setup.first || b->folder[0] == '\0' || metric == NULL)
        return 0;
    struct model_score score = {.value = as_kept(evaluation_figure(e, metric)),
                                .step = s->step,
                                .samples = s->samples,
                                .lineage = s->lineage};
    (void)snprintf(score.metric, sizeof(score.metric), "%s", metric);
    bool finite = false;
    if (!best_is_better(b, &score))
        return 0;
    if (save_scored(job, b->folder, &score, &finite, err) != 0)
        return -1;
    if (!finite)
        return 0;
    b->known = true;
    b->score = score;
    b->epoch = run_setup_epoch(&job->setup, &job->state);
    return 0;
}

int best_publish(struct training_run *job, struct error *err) {
    const struct best *b = &job->saves.best;
    if (!job->setup.first || job->setup.options->publish != OPTION_PUBLISH_BEST)
        return 0;
    if (!b->known) {
        log_warning(
            "--publish best: no evaluation gave a best model; the model of the last step is in %s",
            job->setup.inputs.model);
        return 0;
    }
    if (model_dir_copy(b->folder, job->setup.inputs.model, err) != 0)
        return error_wrap(err, "publishing the best model");
    log_info("model in %s: that of step %" PRId64 ", the best one", job->setup.inputs.model,
             b->score.step);
    return 0;
}

void best_log(const struct training_run *job) {
    const struct best *b = &job->saves.best;
    if (!job->setup.first || !b->known)
        return;
    log_info("best: epoch %.4g (step %" PRId64 "), %s %.4f; its model is in %s", b->epoch,
             b->score.step, b->score.metric, b->score.value, b->folder);
}
