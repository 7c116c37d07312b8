#include "run/report.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/file.h"
#include "options/options.h"
#include "telemetry/report_line.h"
#include "telemetry/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

enum { LINE_MAX_SIZE = 1024 };

/* How much of the time of a step that is told comes from the last one. */
static const double newest = 0.1;

int report_open(struct report *r, FILE *out, int log, const char *events, struct error *err) {
    *r = (struct report){
        .out = out,
        .table = log != OPTION_LOG_METRICS,
        .metrics = log != OPTION_LOG_TABLE,
        .events = TFEVENTS_CLOSED,
        .opened_at = clock_now(),
    };
    if (out == NULL)
        return 0;
    status_line_open(&r->line, STDERR_FILENO);
    if (events[0] == '\0')
        return 0;
    char host[64] = "";
    (void)gethostname(host, sizeof(host) - 1);
    return tfevents_open(&r->events, events, host, clock_wall(), err);
}

void report_done(struct report *r) {
    status_line_close(&r->line);
    tfevents_done(&r->events);
}

void report_start(struct report *r) {
    r->stepped_at = clock_now();
    speed_start(&r->speed, r->stepped_at);
}

void report_step(struct report *r, double loss, int64_t images, bool skipped) {
    speed_add(&r->speed, images);
    r->loss += isfinite(loss) ? loss : 0;
    r->losses += isfinite(loss);
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
    r->standing.loss = loss;
    r->standing.step_images = images;
}

void report_summary(const struct report *r, char text[REPORT_SUMMARY_MAX]) {
    char training[32], whole[32];
    double seconds = (double)r->all.nanoseconds / (double)CLOCK_SECOND;
    text[0] = '\0';
    if (r->all.steps == 0 || !(seconds > 0))
        return;
    status_duration(training, sizeof(training), seconds);
    status_duration(whole, sizeof(whole),
                    (double)(clock_now() - r->opened_at) / (double)CLOCK_SECOND);
    (void)snprintf(text, REPORT_SUMMARY_MAX,
                   "%" PRId64 " steps of %" PRId64 " images in %s of training, %.1f images/s; %s "
                   "with evaluations and checkpoints",
                   r->all.steps, r->all.images, training, (double)r->all.images / seconds, whole);
}

void report_standing(struct report *r, int64_t step, int64_t steps, double epoch) {
    char text[STATUS_LINE_MAX];
    int64_t now = clock_now();
    if (!status_line_due(&r->line, now))
        return;
    r->standing.step = step;
    r->standing.steps = steps;
    r->standing.epoch = epoch;
    status_text_training(text, &r->standing);
    status_line_show(&r->line, now, text);
}

void report_wait(struct report *r, int64_t nanoseconds) {
    speed_wait(&r->speed, nanoseconds);
}

static int print(struct report *r, struct buf *line, struct error *err) {
    status_line_clear(&r->line);
    if (fprintf(r->out, "%s\n", buf_text(line)) < 0 || fflush(r->out) != 0)
        return error_set_errno(err, file_write_code(errno), "writing to standard output");
    buf_consume(line, line->size);
    return 0;
}

static int print_row(struct report *r, const struct table_row *row, struct error *err) {
    cleanup_buf struct buf line = {0};
    buf_init(&line, LINE_MAX_SIZE);
    if (r->table && !r->header) {
        if (table_header(&line, err) != 0 || print(r, &line, err) != 0)
            return -1;
        r->header = true;
    }
    if (r->table && (table_row(&line, row, err) != 0 || print(r, &line, err) != 0))
        return -1;
    if (r->metrics && (report_line_train(&line, row, err) != 0 || print(r, &line, err) != 0))
        return -1;
    return 0;
}

int report_row(struct report *r, const struct report_row *at, struct error *err) {
    if (r->steps == 0)
        return 0;
    double loss = r->losses > 0 ? r->loss / (double)r->losses : (double)NAN;
    int64_t skipped = r->skipped;
    double data_wait = 0;
    double speed = speed_report(&r->speed, clock_now(), &data_wait);
    r->loss = 0;
    r->losses = 0;
    r->steps = 0;
    r->skipped = 0;
    if (r->out == NULL)
        return 0;
    struct table_row row = {
        .step = at->step,
        .epoch = at->epoch,
        .speed = speed,
        .loss = loss,
        .final_loss = loss + at->penalty,
        .lr = at->lr,
        .data_wait = data_wait,
        .skipped = skipped,
        .faults = {at->bad_files, at->damaged_files},
    };
    if (print_row(r, &row, err) != 0)
        return -1;
    const struct tfevents_scalar scalars[] = {
        {"train/loss", loss},
        {"train/final_loss", row.final_loss},
        {"train/learning_rate", at->lr},
        {"train/images_per_second", speed},
        {"train/data_wait", data_wait},
        {"train/skipped", (double)skipped},
    };
    return r->events.fd < 0 ? 0
                            : tfevents_add(&r->events, clock_wall(), at->step, scalars,
                                           sizeof(scalars) / sizeof(scalars[0]), err);
}

int report_evaluation(struct report *r, int64_t step, double epoch, const struct evaluation *e,
                      struct error *err) {
    if (r->out == NULL)
        return 0;
    cleanup_buf struct buf line = {0};
    buf_init(&line, LINE_MAX_SIZE);
    if (r->table && (buf_printf(&line, err,
                                "evaluation: epoch %.4g, top-1 %.2f %%, top-5 %.2f %%, loss %.4f, "
                                "%" PRId64 " images",
                                epoch, 100 * e->top1, 100 * e->top5, e->loss, e->images) != 0 ||
                     print(r, &line, err) != 0))
        return -1;
    struct eval_figures figures = {epoch,   e->top1,   e->top5,
                                   e->loss, e->images, {e->bad, e->damaged}};
    if (r->metrics && (report_line_eval(&line, &figures, err) != 0 || print(r, &line, err) != 0))
        return -1;
    const struct tfevents_scalar scalars[] = {
        {"eval/top1", e->top1}, {"eval/top5", e->top5}, {"eval/loss", e->loss}};
    return r->events.fd < 0 ? 0
                            : tfevents_add(&r->events, clock_wall(), step, scalars,
                                           sizeof(scalars) / sizeof(scalars[0]), err);
}
