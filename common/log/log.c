#include "common/log/log.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json_text.h"
#include "common/str.h"
#include "common/system/terminal.h"
#include "common/text/redact.h"
#include "common/text/wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A line takes four steps: the text is formatted into a buffer of fixed size, secrets in it are
 * replaced, the form adds its head, and the sink gets the whole line in one call. Secrets go first,
 * so that neither a sink nor a listener ever sees one. If there is no memory for a step, the line
 * is lost: a log must not fail its program.
 *
 * The settings are those of the process and are set as it begins. They are not guarded: threads may
 * log at the same time, but none may change settings then. */

/* The settings of this process; see the setters in log.h. */
static char who_name[80];
static enum log_level lowest = LOG_INFO;
static struct log_sink lines_go;
static struct log_listener listens;
static enum log_form form = LOG_TEXT;
static int terminal = -1; /* descriptor of the terminal; LOG_TERMINAL uses its width */
static bool coloured;

void log_set_who(const char *who) {
    snprintf(who_name, sizeof(who_name), "%s", who != NULL ? who : "");
}

void log_set_level(enum log_level level) {
    lowest = level;
}

/* The previous sink is returned so that a caller with a sink of its own can put it back: see
 * common/log/status_line.c. */
struct log_sink log_set_sink(struct log_sink sink) {
    struct log_sink before = lines_go;
    lines_go = sink;
    return before;
}

/* One listener at a time: the event log in ringmaster, and the log of a run in ringtrain. */
struct log_listener log_set_listener(struct log_listener listener) {
    struct log_listener before = listens;
    listens = listener;
    return before;
}

/* A form that is asked for by name has no terminal, so no colours and no width. */
void log_set_form(enum log_form wanted) {
    form = wanted;
    terminal = -1;
    coloured = false;
}

void log_set_terminal(int fd) {
    form = LOG_TERMINAL;
    terminal = fd;
    coloured = terminal_has_colour(fd);
}

/* One write for a line: the kernel keeps writes of up to PIPE_BUF bytes to a pipe whole, so that
 * lines of other processes on the same pipe do not cut into this one. */
static void put(const struct buf *line) {
    if (lines_go.put != NULL)
        lines_go.put(lines_go.context, buf_text(line), line->size);
    else
        (void)file_write_all(STDERR_FILENO, line->data, line->size, NULL);
}

/* WHO is empty before the host's name is known; the colon is then left out. */
static int add_text_line(struct buf *line, const char *stamp, const char *level,
                         const struct buf *text) {
    if (buf_printf(line, NULL, "%s %-7s %s%s", stamp, level, who_name,
                   who_name[0] != '\0' ? ": " : "") != 0 ||
        str_add_utf8(line, buf_text(text), text->size, NULL) != 0)
        return -1;
    return buf_add(line, "\n", 1, NULL);
}

/* Appends "12:34:56 warning: ", with the level in its colour. *RET_AT is the column that follows.
 */
static int add_terminal_head(struct buf *line, const char *level, size_t *ret_at) {
    char clock[16] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL)
        (void)strftime(clock, sizeof(clock), "%H:%M:%S ", &local);
    bool error = strcmp(level, "error") == 0, info = strcmp(level, "info") == 0;
    *ret_at = strlen(clock) + (info ? 0 : strlen(level) + 2);
    if (buf_printf(line, NULL, "%s%s%s", terminal_colour(coloured, TERMINAL_DIM), clock,
                   terminal_colour(coloured, TERMINAL_PLAIN)) != 0)
        return -1;
    return info ? 0
                : buf_printf(line, NULL, "%s%s:%s ",
                             terminal_colour(coloured, error ? TERMINAL_RED : TERMINAL_YELLOW),
                             level, terminal_colour(coloured, TERMINAL_PLAIN));
}

/* The stamp with date and zone would fill a third of a narrow line; the local clock of
 * add_terminal_head() stands in its place. Without a terminal the width is endless, as in tests. */
static int add_terminal_line(struct buf *line, const char *stamp, const char *level,
                             const struct buf *text) {
    enum { INDENT = 9 }; /* columns of the clock, so that continuation lines align with the text */
    cleanup_buf struct buf said;
    size_t at = 0;
    (void)stamp;
    buf_init(&said, line->max);
    if (add_terminal_head(line, level, &at) != 0 ||
        buf_printf(&said, NULL, "%s%s", who_name, who_name[0] != '\0' ? ": " : "") != 0 ||
        str_add_utf8(&said, buf_text(text), text->size, NULL) != 0)
        return -1;
    struct wrap wrap = {
        .at = at, .indent = INDENT, .width = terminal >= 0 ? terminal_columns(terminal) : SIZE_MAX};
    if (wrap_add(line, buf_text(&said), wrap, NULL) != 0)
        return -1;
    return buf_add(line, "\n", 1, NULL);
}

/* json_text_quote() replaces what is not UTF-8, so that each line can be parsed whatever a program
 * printed. */
static int add_json_line(struct buf *line, const char *stamp, const char *level,
                         const struct buf *text) {
    if (buf_printf(line, NULL, "{\"time\":\"%s\",\"level\":\"%s\",\"who\":", stamp, level) != 0 ||
        json_text_quote(line, who_name, strlen(who_name), NULL) != 0 ||
        buf_add_text(line, ",\"text\":", NULL) != 0 ||
        json_text_quote(line, buf_text(text), text->size, NULL) != 0)
        return -1;
    return buf_add_text(line, "}\n", NULL);
}

/* A buffer may grow beyond LOG_LINE_MAX: a secret may be shorter than its replacement, and a byte
 * may become three or an escape of six. errno is kept for callers that log between a failed call
 * and the report of it. The listener gets a line even if it could not be printed. */
void log_line(enum log_level level, const char *format, ...) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    static int (*const add_line[])(struct buf *, const char *, const char *, const struct buf *) = {
        [LOG_TEXT] = add_text_line, [LOG_JSON] = add_json_line, [LOG_TERMINAL] = add_terminal_line};
    if (level < lowest)
        return;
    int saved = errno;

    char text[LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    cleanup_buf struct buf clean;
    buf_init(&clean, (size_t)LOG_LINE_MAX * 4);
    cleanup_buf struct buf line;
    buf_init(&line, (size_t)LOG_LINE_MAX * 16);
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall(), stamp);
    if (redact_text(&clean, text, NULL) == 0 &&
        add_line[form](&line, stamp, names[level], &clean) == 0)
        put(&line);
    if (listens.hear != NULL)
        listens.hear(listens.context, level, buf_text(&clean));
    errno = saved;
}

/* Each line passes through log_line() by itself and so has its own stamp and its own limit of
 * length. An empty line would be a head without text and is left out. */
void log_lines(enum log_level level, const char *text) {
    while (*text != '\0') {
        const int size = (int)strcspn(text, "\n");
        if (size > 0)
            log_line(level, "  | %.*s", size, text);
        text += size + (text[size] == '\n');
    }
}
