#include "common/status_line.h"

#include "common/clock.h"
#include "common/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const int64_t pause_between = CLOCK_SECOND / 4;
static const char erase[] = "\r\x1b[K";

enum { WIDTH_UNKNOWN = 80 };

static void put_log_line(void *context, const char *text, size_t size) {
    struct status_line *line = context;
    status_line_clear(line);
    if (line->before.put != NULL)
        line->before.put(line->before.context, text, size);
    else
        (void)file_write_all(STDERR_FILENO, text, size, NULL);
}

static bool can_rewrite(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

void status_line_open(struct status_line *line, int fd) {
    *line = STATUS_LINE_SILENT;
    if (!can_rewrite(fd))
        return;
    line->fd = fd;
    line->before = log_set_sink((struct log_sink){put_log_line, line});
}

void status_line_close(struct status_line *line) {
    if (line->fd > 0) {
        status_line_clear(line);
        (void)log_set_sink(line->before);
    }
    *line = STATUS_LINE_SILENT;
}

bool status_line_due(const struct status_line *line, int64_t now) {
    return line->fd > 0 && now >= line->next;
}

/* Asked each time: windows change. The last column stays free, where some terminals wrap. */
static size_t width(int fd) {
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_UNKNOWN - 1;
    return size.ws_col - 1u;
}

void status_line_show(struct status_line *line, int64_t now, const char *text) {
    char bytes[sizeof(erase) + STATUS_LINE_MAX];
    if (!status_line_due(line, now))
        return;
    size_t most = width(line->fd);
    most = most < STATUS_LINE_MAX - 1 ? most : STATUS_LINE_MAX - 1;
    int size = snprintf(bytes, sizeof(bytes), "%s%.*s", erase, (int)most, text);
    (void)file_write_all(line->fd, bytes, (size_t)size, NULL);
    line->shown = true;
    line->next = now + pause_between;
}

void status_line_clear(struct status_line *line) {
    if (!line->shown)
        return;
    line->shown = false;
    (void)file_write_all(line->fd, erase, sizeof(erase) - 1, NULL);
}

/* Longer times are told in days. */
enum { DAYS_FROM = 48 };

void status_duration(char *text, size_t size, double seconds) {
    static const double longest = 1e9;
    int64_t s = (int64_t)(seconds < longest ? seconds + 0.5 : longest);
    int64_t hours = s / 3600;
    int minutes = (int)(s / 60 % 60);
    if (hours >= DAYS_FROM)
        (void)snprintf(text, size, "%d days %d h", (int)(hours / 24), (int)(hours % 24));
    else if (hours > 0)
        (void)snprintf(text, size, "%" PRId64 ":%02d:%02d", hours, minutes, (int)(s % 60));
    else
        (void)snprintf(text, size, "%d:%02d", minutes, (int)(s % 60));
}

void status_text_training(char text[STATUS_LINE_MAX], const struct status_training *at) {
    if (at->step_seconds <= 0) {
        (void)snprintf(text, STATUS_LINE_MAX, "step %" PRId64 "/%" PRId64, at->step, at->steps);
        return;
    }
    char left[32];
    status_duration(left, sizeof(left), (double)(at->steps - at->step) * at->step_seconds);
    (void)snprintf(text, STATUS_LINE_MAX,
                   "step %" PRId64 "/%" PRId64 "  epoch %.2f  %.4g images/s  loss %.4f  ETA %s",
                   at->step, at->steps, at->epoch, (double)at->step_images / at->step_seconds,
                   at->loss, left);
}

void status_text_evaluation(char text[STATUS_LINE_MAX], int64_t images, int64_t of,
                            double seconds) {
    char left[32];
    int size =
        snprintf(text, STATUS_LINE_MAX, "evaluating: %" PRId64 "/%" PRId64 " images", images, of);
    if (images <= 0 || seconds <= 0)
        return;
    status_duration(left, sizeof(left), seconds * (double)(of - images) / (double)images);
    (void)snprintf(text + size, STATUS_LINE_MAX - (size_t)size, "  %.4g images/s  ETA %s",
                   (double)images / seconds, left);
}
