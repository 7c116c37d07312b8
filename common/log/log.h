/* Log lines on stderr: time, level, source, text.
 *
 *     2026-11-21T02:03:04.567Z info  algo-2: joined algo-1
 *
 * Secrets are replaced (redact.h), and so are bytes that are not UTF-8. Each line is one write, so
 * lines of several processes do not mix. errno is preserved. */
#ifndef COMMON_LOG_LOG_H
#define COMMON_LOG_LOG_H

#include <stddef.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* Longer texts are cut. */
enum { LOG_LINE_MAX = 8192 };

/* Sets the source that is printed before each text. A copy is kept, cut at 80 bytes. NULL: none. */
void log_set_who(const char *who);
/* Lines below LEVEL are dropped; default LOG_INFO. */
void log_set_level(enum log_level level);

/* Destination of log lines, each complete with its '\n'. With PUT NULL they go to stderr, and a
 * slow reader there delays the caller. */
struct log_sink {
    void (*put)(void *context, const char *line, size_t size);
    void *context;
};
/* Returns the previous sink. */
struct log_sink log_set_sink(struct log_sink sink);

/* Listener that also receives each line that is not dropped: its text without secrets, which need
 * not be UTF-8. */
struct log_listener {
    void (*hear)(void *context, enum log_level level, const char *text);
    void *context;
};
/* Returns the previous listener. */
struct log_listener log_set_listener(struct log_listener listener);

/* Form of log lines: text as above; one JSON object a line with time, level, who and text; or, for
 * a narrow terminal, the time of day and any level other than info. */
enum log_form { LOG_TEXT, LOG_JSON, LOG_TERMINAL };
void log_set_form(enum log_form form);
/* Chooses LOG_TERMINAL for the terminal at FD: lines break between words at its width, and levels
 * have a colour unless NO_COLOR is set. */
void log_set_terminal(int fd);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Logs each line of TEXT that is not empty by itself, as "  | LINE": what belongs to the line
 * before.
 */
void log_lines(enum log_level level, const char *text);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
