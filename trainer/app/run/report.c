#include "trainer/app/run/report.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/terminal.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/options.h"
#include "trainer/app/task/tasks.h"
#include "trainer/telemetry/report_line.h"
#include "trainer/telemetry/run_log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* One row of a training goes to four places: the table and the metric lines on standard output,
 * run.jsonl, and TensorBoard. All of them get the same numbers, collected once by report_row.
 *
 * A step only adds to sums (report_step), because rows come once in many steps and a device may
 * still be working on the step after. report_start stops the clock of the speed for evaluations and
 * checkpoints, and report_spent accounts for those apart.
 *
 * On ranks other than 0 the stream is NULL. They still collect and reset the sums, so that the
 * calls are the same on all ranks and no caller has to ask which rank it is. */

/* Bytes of a line of a row, of an evaluation as text, and of the table of all evaluations. */
enum { LINE_MAX_SIZE = 1024, TEXT_MAX_SIZE = 8192, TABLE_MAX_SIZE = 256 * 1024 };

/* In a window of fewer lines the head would be every second line. */
enum { WINDOW_LEAST = 5 };

/* Scalars of a row in addition to the metrics of its steps, and of one event. */
enum { ROW_EVENTS = 7, EVENTS_MAX = BOARD_SCALARS_MAX };

/* An event has all scalars of a row at once, so the longest row must fit into one. */
_Static_assert(MODEL_METRICS_MAX + (int)ROW_EVENTS <= (int)EVENTS_MAX, "room for steps");
_Static_assert((int)EVALUATION_FIGURES_MAX <= (int)EVENTS_MAX, "room for evaluations");

/* Weight of the last step in the smoothed time of a step. The mean follows a change of speed within
 * some ten steps. */
static const double newest = 0.1;

/* --log auto shows a person the table alone. Where standard output is a file or a pipe, metric
 * lines are printed as well, because a program may be reading. */
void report_open(struct report *r, FILE *out, int log, const struct model *model) {
    const bool on_terminal = out != NULL && ranks_terminal(fileno(out));
    if (log == OPTION_LOG_AUTO)
        log = on_terminal ? OPTION_LOG_TABLE : OPTION_LOG_BOTH;
    *r = (struct report){
        .on_terminal = on_terminal,
        .out = out,
        .model = model,
        .metric_count = model_metric_count(model, true),
        .dropped = task_of(model->task)->dropped,
        .table = log != OPTION_LOG_METRICS,
        .metrics = log != OPTION_LOG_TABLE,
        .board = BOARD_CLOSED,
        .opened_at = clock_now(),
    };
    if (out != NULL)
        status_line_open(&r->line, STDERR_FILENO);
}

/* The stream is the caller's and stays open. */
void report_done(struct report *r) {
    status_line_close(&r->line);
    board_done(&r->board);
    eval_table_done(&r->evaluations);
}

/* The time since the last step is dropped: it was spent on something else. */
void report_start(struct report *r) {
    r->stepped_at = clock_now();
    speed_start(&r->speed, r->stepped_at);
}

/* A metric that is not finite is left out of sum and count alike, so that one skipped step does not
 * make the whole row NaN. */
void report_step(struct report *r, const double metrics[MODEL_METRICS_MAX], int64_t images,
                 bool skipped) {
    speed_add(&r->speed, images);
    for (int i = 0; i < r->metric_count; i++) {
        r->sums[i] += isfinite(metrics[i]) ? metrics[i] : 0;
        r->finite[i] += isfinite(metrics[i]);
    }
    r->steps++;
    r->skipped += skipped;
    int64_t now = clock_now();
    double took = (double)(now - r->stepped_at) / (double)CLOCK_SECOND;
    double *mean = &r->standing.step_seconds;
    *mean = *mean > 0 ? *mean + (took - *mean) * newest : took;
    r->all.steps++;
    r->all.images += images;
    r->all.nanoseconds += now - r->stepped_at;
    r->stepped_at = now;
    /* A NaN may have its sign set, which would be printed as "-nan"; a fresh one has not. */
    r->standing.loss = isnan(metrics[METRIC_LOSS]) ? (double)NAN : metrics[METRIC_LOSS];
    r->standing.step_images = images;
}

/* The share of waiting is relative to the time of training alone. It is left out where a device
 * waits by itself, because the host cannot tell that time from work. */
void report_summary(const struct report *r, char text[REPORT_SUMMARY_MAX]) {
    char training[32], whole[32], waits[64] = "";
    double seconds = (double)r->all.nanoseconds / (double)CLOCK_SECOND;
    text[0] = '\0';
    if (r->all.steps == 0 || !(seconds > 0))
        return;
    const double speed = (double)r->all.images / seconds;
    status_duration(training, sizeof(training), seconds);
    if (r->several && !r->ranks_unknown)
        (void)snprintf(waits, sizeof(waits), ", %.1f %% of it waiting for other ranks",
                       100 * (double)r->all.ranks / (double)r->all.nanoseconds);
    status_duration(whole, sizeof(whole),
                    (double)(clock_now() - r->opened_at) / (double)CLOCK_SECOND);
    (void)snprintf(text, REPORT_SUMMARY_MAX,
                   "%" PRId64 " step%s, %" PRId64 " image%s in %s of training%s, %.*f images/s; %s "
                   "with evaluations and checkpoints",
                   r->all.steps, STR_PLURAL(r->all.steps), r->all.images, STR_PLURAL(r->all.images),
                   training, waits, speed >= 10 ? 1 : 3, speed, whole);
}

/* The text is made only if the line is due, as steps may be far shorter than the time between two
 * of its updates. */
void report_standing(struct report *r, int64_t step, int64_t steps, double epoch) {
    char text[STATUS_LINE_MAX];
    int64_t now = clock_now();
    if (!status_line_due(&r->line, now))
        return;
    r->standing.step = step;
    r->standing.steps = steps;
    r->standing.epoch = epoch;
    status_text_training(text, &r->standing);
    status_line_show(&r->line, now, status_fraction(step, steps), text);
}

/* RANKS below 0 is "not known". It adds nothing to the sums, and from then on no share is shown. */
void report_wait(struct report *r, int64_t data, int64_t ranks) {
    speed_wait(&r->speed, WAIT_DATA, data);
    speed_wait(&r->speed, WAIT_RANKS, ranks > 0 ? ranks : 0);
    r->all.data += data;
    r->all.ranks += ranks > 0 ? ranks : 0;
    r->ranks_unknown = ranks < 0;
}

/* The time counts for the present epoch and for the whole run. */
void report_spent(struct report *r, enum epoch_part part, int64_t nanoseconds) {
    speed_add_part(&r->speed, part, nanoseconds);
    r->all.parts[part] += nanoseconds;
}

static double seconds(int64_t nanoseconds) {
    return (double)nanoseconds / (double)CLOCK_SECOND;
}

/* The line has two times, because a write on a thread of its own takes longer than the steps stand
 * still for it. */
void report_checkpoint(int64_t step, int64_t pause, int64_t took) {
    const struct metric_field fields[] = {
        {"step", (double)step}, {"seconds", seconds(pause)}, {"write_seconds", seconds(took)}};
    run_log_add("checkpoint", fields, sizeof(fields) / sizeof(fields[0]));
}

/* Time waiting for ranks is NaN if it is not known, which the record writes as null. */
void report_times(const struct report *r, struct metric_field ret[REPORT_TIMES]) {
    const struct metric_field times[REPORT_TIMES] = {
        {"seconds", seconds(clock_now() - r->opened_at)},
        {"training_seconds", seconds(r->all.nanoseconds)},
        {"data_seconds", seconds(r->all.data)},
        {"ranks_seconds", r->ranks_unknown ? (double)NAN : seconds(r->all.ranks)},
        {"eval_seconds", seconds(r->all.parts[EPOCH_EVALUATIONS])},
        {"checkpoint_seconds", seconds(r->all.parts[EPOCH_CHECKPOINTS])},
    };
    memcpy(ret, times, sizeof(times));
}

static void count_lines(struct report *r, const char *text) {
    for (; (text = strchr(text, '\n')) != NULL; text++)
        r->since++;
}

/* Prints LINES, ends the last one, and leaves LINES empty. The status line is on the same terminal,
 * so it is cleared first. Each row is flushed, so that a reader of a pipe gets it at once. */
static int print(struct report *r, struct buf *lines, struct error *err) {
    status_line_clear(&r->line);
    if (fprintf(r->out, "%s\n", buf_text(lines)) < 0 || fflush(r->out) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    count_lines(r, buf_text(lines));
    r->since++; /* the last line has no end in the text */
    buf_consume(lines, lines->size);
    return 0;
}

/* Ends the last of LINES if there is one, so that another can follow. */
static int next_line(struct buf *lines, struct error *err) {
    return lines->size == 0 ? 0 : buf_add(lines, "\n", 1, err);
}

/* Returns true if the table's head is not to be seen: before the first row, and on a terminal once
 * the next row would move it out of the window, whose last line has the cursor. Lines of the log
 * are not counted, because they are few. */
static bool needs_head(const struct report *r) {
    const size_t lines = r->on_terminal ? terminal_lines(fileno(r->out)) : 0;
    return !r->headed || (lines >= WINDOW_LEAST && r->since >= lines - 1);
}

/* Head, row and metric line are printed by one call. Columns for which a terminal is too narrow
 * are left out; files and pipes get all. Both are looked at when there is a head, because windows
 * are resized. */
static int add_table(struct report *r, struct buf *lines, struct table_row *row,
                     struct error *err) {
    row->columns = task_of(r->model->task)->row_columns;
    if (needs_head(r)) {
        r->columns = report_line_fitting(
            row->columns, r->on_terminal ? terminal_columns(fileno(r->out)) : SIZE_MAX);
        r->headed = true;
        r->since = 0;
        if (report_line_header(lines, row->columns, r->columns, err) != 0 ||
            next_line(lines, err) != 0)
            return -1;
    }
    row->column_count = r->columns;
    return report_line_row(lines, row, err);
}

/* The head of the table comes with the first row and not before, so that a run which fails earlier
 * prints none. */
static int print_row(struct report *r, struct table_row *row, struct error *err) {
    cleanup_buf struct buf lines = {0};
    buf_init(&lines, 3 * LINE_MAX_SIZE);
    if (r->table && add_table(r, &lines, row, err) != 0)
        return -1;
    if (r->metrics && (next_line(&lines, err) != 0 || report_line_train(&lines, row, err) != 0))
        return -1;
    return print(r, &lines, err);
}

/* Averages over the steps since the last row. A mean covers the steps with a finite value. The loss
 * comes first. A metric of kind METRIC_SUM is reported as the sum over the steps, not their mean.
 * The count of samples is no metric to report. Returns how many are in TOLD, and empties the sums.
 */
static int collect(struct report *r, struct metric_field told[MODEL_METRICS_MAX]) {
    const struct model_metric *list = r->model->metrics;
    int count = 0;
    for (int i = 0; i < r->metric_count; i++) {
        double mean = r->finite[i] > 0 ? r->sums[i] / (double)r->finite[i] : (double)NAN;
        if (i != METRIC_SAMPLES)
            told[count++] =
                (struct metric_field){list[i].name, list[i].kind == METRIC_SUM ? r->sums[i] : mean};
    }
    /* The next row starts from nothing. */
    memset(r->sums, 0, sizeof(r->sums));
    memset(r->finite, 0, sizeof(r->finite));
    return count;
}

/* Writes a line of KIND to the record: where the run stands, the figures, and the times since the
 * start. */
static void keep_numbers(const struct report *r, const char *kind, int64_t step, double epoch,
                         const struct metric_field *fields, int count) {
    struct metric_field all[EVENTS_MAX + 2 + REPORT_TIMES] = {{"step", (double)step},
                                                              {"epoch", epoch}};
    memcpy(all + 2, fields, (size_t)count * sizeof(*fields));
    report_times(r, all + 2 + count);
    run_log_add(kind, all, (size_t)count + 2 + REPORT_TIMES);
}

/* The clock of the speed and the sums are reset on every rank; only then do silent ranks return. */
int report_row(struct report *r, const struct report_row *at, struct error *err) {
    /* The loss is in the first element, from METRIC_LOSS; print_row passes the rest as further
     * metrics. */
    struct metric_field told[MODEL_METRICS_MAX + ROW_EVENTS];
    if (r->steps == 0)
        return 0;
    int count = collect(r, told);
    if (r->dropped != NULL)
        told[count++] = (struct metric_field){r->dropped, (double)at->samples.dropped};
    double loss = told[METRIC_LOSS].value;
    int64_t skipped = r->skipped;
    double waits[SPEED_WAITS];
    double speed = speed_report(&r->speed, clock_now(), waits);
    /* With one rank there is no wait for others, and a column of zeros would only take room. */
    const bool several = r->several && !r->ranks_unknown;
    r->steps = 0;
    r->skipped = 0;
    if (r->out == NULL)
        return 0;
    struct table_row row = {
        .step = at->step,
        .epoch = at->epoch,
        .speed = speed,
        .loss = loss,
        /* The objective that the optimizer minimizes: the loss and the term of weight decay. */
        .final_loss = loss + at->penalty,
        .lr = at->lr,
        .data_wait = waits[WAIT_DATA],
        .several = several,
        .comm_wait = waits[WAIT_RANKS],
        .skipped = skipped,
        .faults = {at->samples.bad, at->samples.damaged},
        .more = told + 1,
        .more_count = (size_t)count - 1,
    };
    /* Standard output comes first: it is the one place where a failure to write ends the run. */
    if (print_row(r, &row, err) != 0)
        return -1;
    /* The wait for other ranks comes last, so that leaving it out is to count one less. */
    const struct metric_field rest[] = {
        {"final_loss", row.final_loss}, {"learning_rate", at->lr},    {"images_per_second", speed},
        {"data_wait", row.data_wait},   {"skipped", (double)skipped}, {"comm_wait", row.comm_wait},
    };
    _Static_assert(sizeof(rest) / sizeof(rest[0]) + 1 == ROW_EVENTS,
                   "and objects beyond the limit");
    memcpy(told + count, rest, sizeof(rest));
    count += (int)(sizeof(rest) / sizeof(rest[0])) - (several ? 0 : 1);
    keep_numbers(r, "train", at->step, at->epoch, told, count);
    return board_scalars(&r->board.steps, at->step, told, count, err);
}

/* The text may have any length, so it is written as it is and does not pass through a buffer of
 * lines. */
int report_print(struct report *r, const char *text, struct error *err) {
    if (r->out == NULL || !r->table || text[0] == '\0')
        return 0;
    status_line_clear(&r->line);
    count_lines(r, text);
    if (fputs(text, r->out) < 0 || fflush(r->out) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    return 0;
}

/* COCO's metrics are -1 where there is nothing to detect: a curve of them would only stretch the
 * axis. */
static bool is_undefined(const struct metric_field *field) {
    return field->value == -1 &&
           (str_starts_with(field->name, "bbox_") || str_starts_with(field->name, "segm_"));
}

/* Returns how many of the figures have a curve: RET. Leaves out figures that are undefined for this
 * data set. */
static int defined_figures(const struct evaluation *e, struct metric_field ret[EVENTS_MAX]) {
    int count = 0;
    for (int i = 0; i < e->count; i++)
        if (!is_undefined(&e->figures[i]))
            ret[count++] = e->figures[i];
    return count;
}

/* The table of evaluations and the record keep all figures, also those that have no curve. */
int report_evaluation(struct report *r, const struct report_weights *of, const struct evaluation *e,
                      struct error *err) {
    const struct task *task = task_of(r->model->task);
    if (r->out == NULL)
        return 0;
    cleanup_buf struct buf line = {0};
    buf_init(&line, TEXT_MAX_SIZE);
    if (r->table && (task_print(task, &line, of->epoch, e, err) != 0 || print(r, &line, err) != 0))
        return -1;
    /* The metric line of an evaluation has all its figures under the names that the model gives
     * them. */
    const struct eval_figures figures = {
        .step = of->step,
        .epoch = of->epoch,
        .list = e->figures,
        .count = (size_t)e->count,
        .images = e->images,
        .faults = {e->bad, e->damaged},
        .saved_at = of->saved_at,
    };
    if (r->metrics && (report_line_eval(&line, &figures, err) != 0 || print(r, &line, err) != 0))
        return -1;
    if (eval_table_add(&r->evaluations, task->columns, of->step, of->epoch, of->saved_at, e, err) !=
        0)
        return -1;
    keep_numbers(r, "eval", of->step, of->epoch, e->figures, e->count);
    struct metric_field curves[EVENTS_MAX];
    return board_scalars(&r->board.evaluations, of->step, curves, defined_figures(e, curves), err);
}

/* "epoch 3: 41 s, 812.5 images/s; 0.8 s of checkpoints, 3.2 s of evaluation" */
static int print_epoch(struct report *r, int64_t epoch, const struct epoch_summary *times,
                       struct error *err) {
    cleanup_buf struct buf line = {0};
    buf_init(&line, LINE_MAX_SIZE);
    if (r->table &&
        (buf_printf(&line, err,
                    "epoch %" PRId64 ": %.1f s, %.1f images/s; %.1f s of checkpoints, %.1f s of "
                    "evaluation",
                    epoch, times->seconds, times->images_per_second, times->checkpoint_seconds,
                    times->eval_seconds) != 0 ||
         print(r, &line, err) != 0))
        return -1;
    if (r->metrics &&
        (report_line_epoch(&line, epoch, times, err) != 0 || print(r, &line, err) != 0))
        return -1;
    return 0;
}

/* The clock of the epoch ends here on every rank, but only rank 0 prints. */
int report_epoch(struct report *r, int64_t epoch, struct error *err) {
    struct epoch_summary times;
    if (!speed_end_epoch(&r->speed, clock_now(), &times) || r->out == NULL)
        return 0;
    struct metric_field fields[REPORT_LINE_EPOCH_FIELDS];
    report_line_epoch_fields(epoch, &times, fields);
    run_log_add("epoch", fields, REPORT_LINE_EPOCH_FIELDS);
    return print_epoch(r, epoch, &times, err);
}

/* Ranks other than the first have added no evaluation, so their table is empty. */
int report_evaluations(struct report *r, struct error *err) {
    cleanup_buf struct buf text = {0};
    if (r->evaluations.count == 0)
        return 0;
    buf_init(&text, TABLE_MAX_SIZE);
    return eval_table_print(&r->evaluations, task_of(r->model->task)->columns, &text, err) != 0
               ? -1
               : report_print(r, buf_text(&text), err);
}

/* The text is cut up in place by strtok_r, so each line becomes a log line of its own with its own
 * time. */
void report_notes(struct buf *notes) {
    char *rest = NULL;
    if (notes->size == 0)
        return;
    for (char *line = strtok_r(notes->data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        log_warning("%s", line);
    buf_consume(notes, notes->size);
}
