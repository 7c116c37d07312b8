#include "trainer/app/run/record.h"

#include "common/buf.h"
#include "common/file/output_path.h"
#include "common/json/json_text.h"
#include "common/log/log.h"
#include "common/run_id.h"
#include "trainer/report/page.h"
#include "trainer/telemetry/run_log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The record is run.jsonl beside the model, and the page of a run is made from it. train.c calls
 * these functions in order: record_begin once the run is set up, record_flags and record_start when
 * its first step is known, record_classes after evaluations, and record_end in every case, also
 * after an error.
 *
 * Ranks other than the first return at once. Failures to write lines later on are
 * telemetry/run_log.h's to report: training does not depend on them. */

/* Bytes of the texts made here: flags as JSON, as a table, and as a list of settings. */
enum { RECORD_MAX = 256 * 1024 };

/* Appends a member of a JSON object with its comma. VALUE is quoted, so it may hold any bytes that
 * a path can have. */
static int add_text(struct buf *out, const char *name, const char *value, struct error *err) {
    return buf_printf(out, err, "\"%s\":", name) != 0 ||
                   json_text_quote(out, value, strlen(value), err) != 0
               ? -1
               : buf_add(out, ",", 1, err);
}

/* Writes the members of the line of kind "run". It tells what runs, on what data and where; the
 * flags come last, as an object of their own. */
static int describe(const struct run_setup *setup, const struct run_state *state, struct buf *out,
                    struct error *err) {
    const struct run_state *s = state;
    cleanup_buf struct buf own = {.max = RECORD_MAX};
    char host[64] = "";
    const char *attempt = getenv(ATTEMPT_VARIABLE);
    /* A name that is cut short is not terminated by every system: the last byte stays NUL. */
    (void)gethostname(host, sizeof(host) - 1);
    if (options_differences(&own, COMMAND_TRAIN, setup->options, err) != 0 ||
        buf_printf(out, err,
                   "\"version\":%d,\"task\":\"%s\",\"attempt\":%ld,\"images\":%zu,"
                   "\"validation_images\":%zu,",
                   RUN_LOG_VERSION,
                   setup->request.model->task == MODEL_CLASSIFY ? "classify" : "detect",
                   attempt != NULL ? strtol(attempt, NULL, 10) : 0L,
                   setup->data.training.source.count, setup->data.validation.source.count) != 0 ||
        add_text(out, "id", s->run, err) != 0 || add_text(out, "host", host, err) != 0 ||
        add_text(out, "recipe", setup->options->recipe != NULL ? setup->options->recipe : "",
                 err) != 0 ||
        add_text(out, "own_flags", buf_text(&own), err) != 0 ||
        add_text(out, "program", s->program, err) != 0 ||
        add_text(out, "backend", s->backend, err) != 0 ||
        add_text(out, "model", s->model, err) != 0 ||
        add_text(out, "data", setup->data.training.source.name, err) != 0 ||
        buf_printf(out, err,
                   "\"classes\":%" PRId64 ",\"ranks\":%" PRId64 ",\"threads\":%" PRId64
                   ",\"global_batch\":%" PRId64 ",\"total_steps\":%" PRId64 ",\"flags\":",
                   s->classes, s->ranks, s->threads, s->global_batch, s->total_steps) != 0)
        return -1;
    return options_json(out, COMMAND_TRAIN, setup->options, err);
}

/* The description is made before the log is opened, so that a failure leaves no file with half a
 * line. */
int record_begin(const struct run_setup *setup, const struct run_state *state, struct error *err) {
    cleanup_buf struct buf members = {0};
    if (!setup->first)
        return 0;
    buf_init(&members, RECORD_MAX);
    if (describe(setup, state, &members, err) != 0)
        return -1;
    if (run_log_open(setup->inputs.log, err) != 0)
        return error_wrap(err, "--log-dir");
    run_log_add_json("run", buf_text(&members));
    log_info("flags, metrics and log of this run go to run.jsonl and run.log in %s",
             setup->inputs.log);
    return 0;
}

/* The options that change what is learned, and model and ranks. TensorBoard's table of
 * hyperparameters takes a limited number of them; those that come after TFEVENTS_SETTINGS_MAX are
 * left out. Values are cut at spaces, which options_learning does not put into them. */
static int add_settings(const struct run_setup *setup, int64_t step, struct report *report,
                        struct error *err) {
    cleanup_buf struct buf text = {.max = RECORD_MAX};
    struct tfevents_setting list[TFEVENTS_SETTINGS_MAX];
    char ranks[16], *kept = NULL;
    size_t count = 0;
    (void)snprintf(ranks, sizeof(ranks), "%d", comm_size(setup->comm));
    list[count++] = (struct tfevents_setting){"model", setup->request.model->name};
    list[count++] = (struct tfevents_setting){"ranks", ranks};
    /* The NUL is added because strtok_r cuts the text in place, and a buffer need not end with
     * one. */
    if (options_learning(&text, setup->options, err) != 0 || buf_add(&text, "", 1, err) != 0)
        return -1;
    for (char *word = strtok_r(text.data, " ", &kept);
         word != NULL && count < TFEVENTS_SETTINGS_MAX; word = strtok_r(NULL, " ", &kept)) {
        char *equals = strchr(word, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        list[count++] = (struct tfevents_setting){word, equals + 1};
    }
    return board_settings(&report->board, step, list, count, err);
}

/* The table of all flags is for people; the settings are what TensorBoard compares runs by. */
int record_flags(const struct run_setup *setup, int64_t step, struct report *report,
                 struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, RECORD_MAX);
    if (!setup->first)
        return 0;
    return options_table(&text, COMMAND_TRAIN, setup->options, err) != 0 ||
                   board_text(&report->board, step, "flags", buf_text(&text), err) != 0
               ? -1
               : add_settings(setup, step, report, err);
}

/* "sums" and "sum_bytes" are the messages and bytes that a step sums over the ranks, counted from
 * the training program: with them, the time of a step can be compared with the speed of the
 * network. */
void record_start(const struct training_run *job) {
    const struct run_setup *setup = &job->setup;
    const struct network *net = &job->steps.net;
    const struct metric_field fields[] = {
        {"step", (double)job->state.step},
        {"epoch", run_setup_epoch(setup, &job->state)},
        {"sums", net->train[0].program.bucket_count},
        {"sum_bytes", (double)(net->store.count[STORE_GRADIENTS] *
                               comm_type_sent(job->steps.stepper.reduce_type))}};
    if (setup->first)
        run_log_add("start", fields, sizeof(fields) / sizeof(fields[0]));
}

/* The buffer leaves room in the line for what run_log.h adds. A list that does not fit is left
 * out. */
void record_classes(const struct run_setup *setup, const struct run_state *state,
                    const struct buf *members) {
    cleanup_buf struct buf line = {.max = RUN_LOG_LINE_MAX - 256};
    if (!setup->first || members->size == 0)
        return;
    if (buf_printf(&line, NULL, "\"step\":%" PRId64 ",%s", state->step, buf_text(members)) == 0)
        run_log_add_json("classes", buf_text(&line));
}

/* Training does not depend on the page. Writes the HTML report of the run from what is in the
 * record. A file of that name which is not such a page is not overwritten. */
static void write_page(const struct run_setup *setup) {
    char path[PATH_MAX];
    struct error why = {0};
    const struct inputs *in = &setup->inputs;
    if (snprintf(path, sizeof(path), "%s/" PAGE_NAME, in->log) >= (int)sizeof(path))
        return;
    if (output_path_check(path, &PAGE_KIND, "--log-dir", &why) != 0 ||
        page_write_run(in->log, in->out, path, &why) != 0)
        log_warning("no report of this run: %s", why.text);
    else
        log_info("report of this run in %s", path);
}

/* Errors are ignored here: the run is ending with one already. */
static void add_failure(const struct error *why) {
    cleanup_buf struct buf line = {.max = RUN_LOG_LINE_MAX - 256};
    if (buf_printf(&line, NULL, "\"error\":") == 0 &&
        json_text_quote(&line, why->text, strlen(why->text), NULL) == 0)
        run_log_add_json("failure", buf_text(&line));
}

void record_end(const struct training_run *job, enum exit_code code, const struct error *why) {
    const struct run_setup *setup = &job->setup;
    /* A run that failed early has no epochs yet. */
    const double epoch = setup->steps_per_epoch > 0 ? run_setup_epoch(setup, &job->state) : 0;
    /* The times follow only if the report was opened, which a run that fails early has not
     * reached. */
    struct metric_field fields[3 + REPORT_TIMES] = {
        {"step", (double)job->state.step}, {"epoch", epoch}, {"code", (double)code}};
    if (!setup->first)
        return;
    if (job->reports.report.opened_at > 0)
        report_times(&job->reports.report, fields + 3);
    if (why != NULL && code != EXIT_CODE_STOPPED)
        add_failure(why);
    run_log_add("end", fields, job->reports.report.opened_at > 0 ? 3 + REPORT_TIMES : 3);
    /* The page is made from the record, so there must be one. */
    if (run_log_is_open())
        write_page(setup);
}

/* Logs steps, images and speed of the whole run, unless it took no step. */
static void log_speed(const struct training_run *job) {
    char text[REPORT_SUMMARY_MAX];
    report_summary(&job->reports.report, text);
    if (text[0] != '\0')
        log_info("%s", text);
}

/* Ranks other than the first know no best score. */
static void log_best(const struct training_run *job) {
    const struct best *b = &job->saves.best;
    if (!job->setup.first || !b->known)
        return;
    log_info("best: epoch %.4g (step %" PRId64 "), %s %.4f; its model is in %s", b->epoch,
             b->score.step, b->score.metric, b->score.value, b->folder);
}

/* The log promises to continue from this step only if its checkpoint is complete. One that was
 * begun may have been refused, as its weights are not finite. */
void record_log_stop(const struct training_run *job) {
    const struct run_state *s = &job->state;
    bool again = strcmp(job->setup.options->resume, "auto") == 0;
    if (!job->setup.first)
        return;
    if (job->saves.keeping.saved_step == s->step && job->saves.keeping.saved_at != 0)
        log_info("stopped on request after step %" PRId64 "; the same command%s goes on from there",
                 s->step, again ? "" : " with --resume auto");
    else if (s->step > 0)
        log_info("stopped on request after step %" PRId64, s->step);
    else
        log_info("stopped on request before the first step");
    log_speed(job);
    log_best(job);
}

/* Suggests the next commands. The command names the best model if it is another one than the last
 * and was not published in its place. */
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

/* Faults of the data are summed up once, so that a few among many log lines are not overlooked. */
void record_log_end(struct training_run *job) {
    if (!job->setup.first)
        return;
    log_speed(job);
    sample_health_sum_up(&job->setup.data.training, job->setup.data.bad_allowed);
    if (job->setup.data.validation.source.count > 0)
        sample_health_sum_up(&job->setup.data.validation, job->setup.data.bad_allowed);
    log_best(job);
    log_next(job);
}
