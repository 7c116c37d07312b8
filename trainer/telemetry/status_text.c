#include "trainer/telemetry/status_text.h"

#include <inttypes.h>
#include <stdio.h>

double status_fraction(int64_t done, int64_t of) {
    return of > 0 ? (double)done / (double)of : 0;
}

void status_text_training(char text[STATUS_LINE_MAX], const struct status_training *at) {
    if (at->step_seconds <= 0) {
        (void)snprintf(text, STATUS_LINE_MAX, "step %" PRId64 "/%" PRId64, at->step, at->steps);
        return;
    }
    char left[32];
    status_duration(left, sizeof(left), (double)(at->steps - at->step) * at->step_seconds);
    (void)snprintf(text, STATUS_LINE_MAX,
                   "step %" PRId64 "/%" PRId64 "  epoch %.2f  %.4g images/s  loss %.4f  %s left",
                   at->step, at->steps, at->epoch, (double)at->step_images / at->step_seconds,
                   at->loss, left);
}

void status_text_work(char text[STATUS_LINE_MAX], const struct status_work *at) {
    char left[32];
    int size = snprintf(text, STATUS_LINE_MAX, "%s: %" PRId64 "/%" PRId64 " %s", at->verb, at->done,
                        at->of, at->thing);
    if (at->done <= 0 || at->seconds <= 0)
        return;
    status_duration(left, sizeof(left),
                    at->seconds * (double)(at->of - at->done) / (double)at->done);
    (void)snprintf(text + size, STATUS_LINE_MAX - (size_t)size, "  %.4g %s/s  %s left",
                   (double)at->done / at->seconds, at->thing, left);
}

void status_text_show(struct status_line *line, int64_t now, const struct status_work *at) {
    char text[STATUS_LINE_MAX];
    if (!status_line_due(line, now))
        return;
    status_text_work(text, at);
    status_line_show(line, now, status_fraction(at->done, at->of), text);
}
