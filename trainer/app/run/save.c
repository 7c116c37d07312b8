#include "trainer/app/run/save.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/file/output_path.h"
#include "common/log/log.h"
#include "trainer/app/run/bn_statistics.h"
#include "trainer/app/task/score.h"
#include "trainer/app/weights/nan_check.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/model_dir.h"
#include "trainer/telemetry/status_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A checkpoint has two halves. save_checkpoint, on all ranks, gathers what it holds and hands it to
 * saving.h, which copies the arrays and writes them on a thread while training continues. settle,
 * on rank 0, later learns what came of it, logs it and adapts the schedule.
 *
 * The training loop calls save_poll before each step, which costs nothing while no write has ended.
 * At most one write is under way: the next checkpoint waits for it first. Other ranks have a
 * `saving` that is never busy, so the same calls return at once there.
 *
 * Weights that are not finite are never written over good ones: such a checkpoint is refused with a
 * warning, and a model with an error. */

/* Limit of the config in a checkpoint's header, which also holds the state and a line for each
 * tensor. */
enum { CONFIG_MAX = 256 * 1024 };

/* Seconds that a checkpoint may take before the run counts as stalled. progress_mark passes this
 * limit to the supervisor, so that it does not take a slow disk for a rank that hangs. */
enum { SAVE_PATIENCE = 1200 };

/* Seconds that a run which fails waits for a checkpoint that is being written. The run ends with an
 * error of its own, which must not be held up by a disk that does not answer. */
enum { LEAVE_SECONDS = 30 };

/* Names are borrowed: nothing to free. The model's description for its config.json, as the task
 * gives it. */
static struct model_config describe_model(const struct run_setup *setup, struct run_state *state) {
    struct model_config config = {.model = state->model, .epochs = run_setup_epoch(setup, state)};
    setup->data.task->describe(&setup->data, &setup->request, &config);
    return config;
}

/* Writes the model's description for evaluations of the checkpoint, to be freed; NULL if there
 * are too many classes. Such a checkpoint resumes as any other; it only cannot be evaluated by
 * itself. */
static int describe_in_checkpoint(const struct run_setup *setup, struct run_state *state,
                                  char **ret, struct error *err) {
    const struct model_config config = describe_model(setup, state);
    if (model_config_text(&config, "", "config", ret, err) != 0)
        return -1;
    if (strlen(*ret) > CONFIG_MAX) {
        free(*ret);
        *ret = NULL;
    }
    return 0;
}

/* Hands the checkpoint over to be written. The state and the configuration become the property of
 * the file in any case (saving_begin). saved_boot is taken here, at the step that the checkpoint
 * holds, not when the write ends. */
static int begin(struct training_run *job, const struct array *arrays, size_t count,
                 struct error *err) {
    cleanup_buf struct buf text = {0};
    cleanup_free char *config = NULL;
    buf_init(&text, RUN_STATE_JSON_MAX);
    if (run_state_format(&text, &job->state, job->setup.data.class_names, err) != 0 ||
        describe_in_checkpoint(&job->setup, &job->state, &config, err) != 0)
        return -1;
    char *state = strdup(buf_text(&text));
    if (state == NULL)
        return error_no_memory(err, "the run's state");
    const struct saving_file file = {.folder = job->setup.inputs.checkpoints,
                                     .step = job->state.step,
                                     .keep = (int)job->setup.options->keep,
                                     .arrays = arrays,
                                     .count = count,
                                     .state = state,
                                     .config = TAKE_PTR(config)};
    job->saves.saved_boot = clock_boot();
    return saving_begin(&job->saves.saving, &file, err);
}

/* Lists the arrays of the checkpoint and begins to write it, on rank 0. The arrays still point into
 * the store; STATISTICS follow them, and may be empty. */
static int save_present(struct training_run *job, const struct bn_statistics *statistics,
                        struct error *err) {
    if (!job->setup.first)
        return 0;
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &job->steps.net.store,
                     WEIGHTS_MODEL | WEIGHTS_OPTIMIZER | WEIGHTS_AVERAGE | WEIGHTS_BATCHES,
                     job->state.batches, err) != 0)
        return -1;
    cleanup_free struct array *arrays = calloc(w.count + statistics->count, sizeof(*arrays));
    if (arrays == NULL)
        return error_no_memory(err, "saving a checkpoint");
    if (statistics->count > 0)
        bn_statistics_show_mean(statistics, &job->steps, &w);
    memcpy(arrays, w.arrays, w.count * sizeof(*arrays));
    if (statistics->count > 0)
        memcpy(arrays + w.count, statistics->arrays, statistics->count * sizeof(*arrays));
    if (begin(job, arrays, w.count + statistics->count, err) != 0)
        return error_wrap(err, "saving a checkpoint");
    return 0;
}

/* Adds the time since BEGUN to what checkpoints have cost. */
static void add_pause(struct training_run *job, int64_t begun) {
    const int64_t pause = clock_now() - begun;
    job->saves.pause += pause;
    report_spent(&job->reports.report, EPOCH_CHECKPOINTS, pause);
}

/* Adds the cost of a checkpoint to the automatic policy: the pause of the steps and, if processors
 * compute the steps, the processor time of the writing thread, which they lack meanwhile, spread
 * over the compute threads. */
static void learn(struct training_run *job) {
    struct checkpoint_policy *k = &job->saves.keeping;
    const struct saving_file *file = &job->saves.saving.file;
    const bool host = job->setup.backend->table->device == NULL;
    const int64_t taken = host ? file->processor / job->setup.threads.compute : 0;
    const int64_t cost = job->saves.pause + taken;
    char every[32];
    if (!checkpoint_policy_learn(k, cost, file->took))
        return;
    status_duration(every, sizeof(every), (double)k->every.nanoseconds / (double)CLOCK_SECOND);
    log_info("--checkpoint-every auto: one every %s, as it costs %.2f s (--mtbf %s)", every,
             (double)cost / (double)CLOCK_SECOND, job->setup.options->mtbf);
}

/* The checkpoint is complete. The pause includes the wait that `settle` has just added. */
static void log_saved(struct training_run *job) {
    struct run_saves *s = &job->saves;
    const struct saving_file *file = &s->saving.file;
    if (file->refused) {
        log_warning("no checkpoint of step %" PRId64 ": %s; those before it stay", file->step,
                    file->why.text);
        return;
    }
    log_info("checkpoint %s", file->path);
    s->keeping.saved_at = file->written_at;
    progress_saved(&job->reports.progress, (uint64_t)s->saved_boot, (uint64_t)s->pause);
    report_checkpoint(file->step, s->pause, file->took);
    learn(job);
    s->pause = 0;
}

/* Tells what came of the checkpoint that is being written, if that is known by DEADLINE. A DEADLINE
 * of 0 only looks. Time spent waiting counts as pause. After WRITER_FAILED the error is the write's
 * own, with the step that it was to save. */
static int settle(struct training_run *job, int64_t deadline, struct error *err) {
    struct saving *s = &job->saves.saving;
    struct error failure = {0};
    if (!saving_is_busy(s))
        return 0;
    /* saving_end frees what the file has, so the step is kept here. */
    const int64_t step = s->file.step, begun = clock_now();
    const enum writer_state state = saving_look(s, deadline, &failure);
    if (deadline > 0)
        add_pause(job, begun);
    if (state == WRITER_WRITING)
        return deadline == 0 ? 0
                             : error_set(err, EXIT_CODE_STALLED,
                                         "the checkpoint of step %" PRId64
                                         " is not written: the disk of %s does not answer",
                                         step, s->file.folder);
    report_notes(&s->file.notes);
    if (state == WRITER_DONE)
        log_saved(job);
    saving_end(s);
    if (state != WRITER_FAILED)
        return 0;
    if (err != NULL)
        *err = failure;
    return error_wrap(err, "saving the checkpoint of step %" PRId64, step);
}

int save_poll(struct training_run *job, struct error *err) {
    return settle(job, 0, err);
}

/* The mark is set before the wait, because the supervisor would otherwise count it from the last
 * step. */
int save_wait(struct training_run *job, struct error *err) {
    if (!saving_is_busy(&job->saves.saving))
        return 0;
    progress_mark(&job->reports.progress, (uint64_t)job->state.step, SAVE_PATIENCE);
    return settle(job, clock_now() + SAVE_PATIENCE * CLOCK_SECOND, err);
}

/* A failure here is a warning: the run already has the error that it ends with. */
void save_leave(struct training_run *job) {
    struct error why = {0};
    if (settle(job, clock_now() + LEAVE_SECONDS * CLOCK_SECOND, &why) != 0)
        log_warning("%s", why.text);
}

int save_checkpoint(struct training_run *job, struct error *err) {
    struct checkpoint_policy *k = &job->saves.keeping;
    cleanup_bn_statistics struct bn_statistics statistics = {0};
    k->asked = false;
    /* A step that is both the end of an epoch and due by count is saved once. */
    if (k->saved_step == job->state.step)
        return 0;
    if (save_wait(job, err) != 0)
        return -1;
    const int64_t begun = clock_now();
    /* The time of the last checkpoint must not be reported for this one. */
    k->saved_at = 0;
    progress_mark(&job->reports.progress, (uint64_t)job->state.step, SAVE_PATIENCE);
    /* A divided optimizer keeps parts of its state on other ranks. */
    if (stepper_collect(&job->steps.stepper, err) != 0)
        return error_wrap(err, "collecting what a checkpoint holds");
    /* The position is the beginning of an epoch. */
    if (job->state.images == 0 && bn_statistics_average(&job->steps, job->setup.comm, err) != 0)
        return -1;
    if (job->steps.own_statistics && comm_size(job->setup.comm) > 1 &&
        bn_statistics_gather(&statistics, &job->steps, job->setup.comm, err) != 0)
        return -1;
    if (save_present(job, &statistics, err) != 0)
        return -1;
    /* Before its outcome is known: all ranks have to agree on what was begun, and rank 0 alone
     * learns the outcome. A failure ends the run. */
    k->saved_step = job->state.step;
    k->since = clock_now();
    add_pause(job, begun);
    timeline_end(&job->reports.timeline.steps, TIMELINE_CHECKPOINT, begun, job->state.step);
    return save_poll(job, err);
}

int save_last(struct training_run *job, struct error *err) {
    return save_checkpoint(job, err) != 0 ? -1 : save_wait(job, err);
}

/* The run's id, then text for people. The id is for lock_folder, which compares it; the line after
 * it is what a person reads in the message of the other job. */
static void describe_job(const struct run_state *state, char text[FOLDER_LOCK_TEXT]) {
    char host[64] = "", since[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    (void)gethostname(host, sizeof(host) - 1);
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", &utc);
    (void)snprintf(text, FOLDER_LOCK_TEXT, "%s\nhost %s, process %ld, since %s", state->run, host,
                   (long)getpid(), since);
}

/* Locks FOLDER for this job. An earlier attempt of the same job may still hold it on a host that
 * was lost; that one is ignored. The lock prevents two jobs from deleting each other's old
 * checkpoints. A holder with the same text is this process itself, with both flags naming one
 * folder. */
static int lock_folder(const struct run_state *state, struct folder_lock *lock,
                       const char own[FOLDER_LOCK_TEXT], const char *flag, const char *folder,
                       struct error *err) {
    char holder[FOLDER_LOCK_TEXT];
    bool taken = false;
    if (folder_lock_take(lock, folder, own, holder, &taken, err) != 0)
        return error_wrap(err, "%s", flag);
    if (taken || strcmp(holder, own) == 0) /* one folder for both */
        return 0;
    size_t run = strcspn(holder, "\n");
    const char *who = holder[run] == '\n' ? holder + run + 1 : "not known by name yet";
    if (run > 0 && strlen(state->run) == run && strncmp(holder, state->run, run) == 0) {
        log_warning("an earlier attempt at this job still holds %s (%s)", folder, who);
        return 0;
    }
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: another job is writing to %s (%s); the two would remove each other's "
                     "files: give this one another folder",
                     flag, folder, who);
}

/* Fails if the model of the last step would overwrite the best one. The two models differ, and both
 * are wanted. */
static int check_best(const struct best *best, const char *model, const struct model_config *config,
                      struct error *err) {
    if (best->folder[0] == '\0')
        return 0;
    if (model_dir_check(best->folder, config, err) != 0)
        return error_wrap(err, "--checkpoint-dir");
    if (output_path_is_same(best->folder, model))
        return error_set(err, EXIT_CODE_CONFIG,
                         "--model-dir: the best model is kept in %s; give another folder, or "
                         "--keep-best none",
                         model);
    return 0;
}

/* The order goes from cheap checks to the locks, so that a run which is refused leaves no lock. */
int save_check(struct training_run *job, struct error *err) {
    if (!job->setup.first)
        return 0;
    const char *checkpoints = job->setup.inputs.checkpoints;
    struct model_config config = describe_model(&job->setup, &job->state);
    if (model_dir_check(job->setup.inputs.model, &config, err) != 0)
        return error_wrap(err, "--model-dir");
    if (file_make_dirs(checkpoints, err) != 0)
        return error_wrap(err, "--checkpoint-dir");
    if (access(checkpoints, W_OK | X_OK) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "--checkpoint-dir: %s", checkpoints);
    if (check_best(&job->saves.best, job->setup.inputs.model, &config, err) != 0 ||
        eval_artifacts_check(&job->reports.artifacts, job->setup.data.task, err) != 0)
        return -1;
    char own[FOLDER_LOCK_TEXT];
    describe_job(&job->state, own);
    if (lock_folder(&job->state, &job->saves.lock, own, "--checkpoint-dir", checkpoints, err) != 0)
        return -1;
    return lock_folder(&job->state, &job->saves.model_lock, own, "--model-dir",
                       job->setup.inputs.model, err);
}

/* The published weights are the moving average where there is one (WEIGHTS_PUBLISHED). */
int save_model(struct training_run *job, struct error *err) {
    if (!job->setup.first)
        return 0;
    struct model_config config = describe_model(&job->setup, &job->state);
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &job->steps.net.store, WEIGHTS_MODEL | WEIGHTS_PUBLISHED | WEIGHTS_BATCHES,
                     job->state.batches, err) != 0 ||
        nan_check_weights(&w, err) != 0 ||
        model_dir_save(job->setup.inputs.model, &config, w.arrays, w.count, err) != 0)
        return error_wrap(err, "publishing the model");
    log_info("model in %s", job->setup.inputs.model);
    return 0;
}

/* Writes the model to FOLDER with its score. *RET_FINITE: true if it was saved, because all of its
 * weights are finite. */
static int save_scored(struct training_run *job, const char *folder,
                       const struct model_score *score, bool *ret_finite, struct error *err) {
    struct model_config config = describe_model(&job->setup, &job->state);
    cleanup_weights struct weights w = {0};
    struct error why = {0};
    config.score = *score;
    if (weights_list(&w, &job->steps.net.store, WEIGHTS_MODEL | WEIGHTS_PUBLISHED | WEIGHTS_BATCHES,
                     job->state.batches, err) != 0)
        return -1;
    /* A model that is not finite is simply not the best one; training may recover. */
    *ret_finite = nan_check_weights(&w, &why) == 0;
    if (*ret_finite && model_dir_save(folder, &config, w.arrays, w.count, err) != 0)
        return error_wrap(err, "keeping the best model");
    return 0;
}

/* Rounds VALUE as config.json does, so that a resumed run compares with the same number. */
static double as_kept(double value) {
    char text[40];
    (void)snprintf(text, sizeof(text), "%.9g", value);
    return strtod(text, NULL);
}

/* Scores are compared after rounding, so a resumed run decides alike. The score is remembered only
 * when the model is on the disk. */
int save_best(struct training_run *job, const struct evaluation *e, struct error *err) {
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

/* A run without a best model has published that of its last step already, so this is only a
 * warning. */
int save_publish_best(struct training_run *job, struct error *err) {
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
