#include "common/log/status_line.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/system/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t pause_between = CLOCK_SECOND / 4;
static const char erase[] = "\r\x1b[K";

/* Columns of a bar with its brackets and the space after it. A narrower bar is not drawn. */
enum { BAR_LEAST = 10, BAR_MOST = 14, CODES_MAX = 16 };
_Static_assert(STATUS_LINE_BYTES >= sizeof(erase) + BAR_MOST + 2 * CODES_MAX + STATUS_LINE_MAX,
               "room for all");

static void put_log_line(void *context, const char *text, size_t size) {
    struct status_line *line = context;
    status_line_clear(line);
    if (line->before.put != NULL)
        line->before.put(line->before.context, text, size);
    else
        (void)file_write_all(STDERR_FILENO, text, size, NULL);
}

void status_line_open(struct status_line *line, int fd) {
    *line = STATUS_LINE_SILENT;
    if (!terminal_can_rewrite(fd))
        return;
    line->fd = fd;
    line->colour = terminal_has_colour(fd);
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

/* Writes the bar "[===>   ] ", SIZE columns wide; "" if there is no bar. */
static void draw_bar(bool colour, double fraction, size_t size,
                     char ret[BAR_MOST + 2 * CODES_MAX]) {
    static const char full[] = "==============";
    ret[0] = '\0';
    if (!(fraction >= 0) || size < BAR_LEAST)
        return;
    int inner = (int)(size < BAR_MOST ? size : BAR_MOST) - 3;
    int done = fraction < 1 ? (int)(fraction * inner) : inner;
    bool tip = done < inner;
    (void)snprintf(ret, BAR_MOST + 2 * CODES_MAX, "[%s%.*s%s%s%*s] ",
                   terminal_colour(colour, TERMINAL_CYAN), done, full, tip ? ">" : "",
                   terminal_colour(colour, TERMINAL_PLAIN), inner - done - tip, "");
}

/* Copies to RET what of TEXT fits in MOST columns: its parts, which two spaces separate, without
 * the middle ones from the last on; else its beginning. */
static void fit_text(const char *text, size_t most, char ret[STATUS_LINE_MAX]) {
    (void)snprintf(ret, STATUS_LINE_MAX, "%s", text);
    for (size_t size = strlen(ret); size > most; size = strlen(ret)) {
        char *last = ret + size;
        while (last > ret && strncmp(last, "  ", 2) != 0)
            last--;
        char *middle = last - (last > ret);
        while (middle > ret && strncmp(middle, "  ", 2) != 0)
            middle--;
        if (last == ret)
            ret[most] = '\0';
        else if (middle == ret)
            *last = '\0';
        else
            memmove(middle, last, strlen(last) + 1);
    }
}

size_t status_line_draw(char ret[STATUS_LINE_BYTES], size_t columns, bool colour, double fraction,
                        const char *text) {
    char bar[BAR_MOST + 2 * CODES_MAX];
    /* The last column stays free, because some terminals wrap there. */
    size_t most = columns - 1;
    char shown[STATUS_LINE_MAX];
    fit_text(text, most, shown);
    draw_bar(colour, fraction, most - strlen(shown), bar);
    return (size_t)snprintf(ret, STATUS_LINE_BYTES, "%s%s%s", erase, bar, shown);
}

void status_line_show(struct status_line *line, int64_t now, double fraction, const char *text) {
    char bytes[STATUS_LINE_BYTES];
    if (!status_line_due(line, now))
        return;
    size_t size = status_line_draw(bytes, terminal_columns(line->fd), line->colour, fraction, text);
    (void)file_write_all(line->fd, bytes, size, NULL);
    line->shown = true;
    line->next = now + pause_between;
}

void status_line_clear(struct status_line *line) {
    if (!line->shown)
        return;
    line->shown = false;
    (void)file_write_all(line->fd, erase, sizeof(erase) - 1, NULL);
}

/* From so many hours on, durations are printed in days. */
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
