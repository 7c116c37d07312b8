/* The line of progress at the foot of a terminal: a bar and a text, rewritten in place a few times
 * a second and never wider than the terminal.
 *
 *     [==>        ] step 46/216  epoch 0.43  52.2 images/s  loss 1.6383  1:44 left
 *
 * It is silent wherever it would be in the way: on files and pipes, and where TERM is unset or
 * "dumb". The bar has a colour unless NO_COLOR is set.
 *
 * Whatever prints elsewhere on that terminal clears the line first; log lines do by themselves
 * while it is open. One thread uses it. */
#ifndef COMMON_LOG_STATUS_LINE_H
#define COMMON_LOG_STATUS_LINE_H

#include "common/log/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_LINE_MAX = 256 };

struct status_line {
    int fd; /* borrowed; -1: no output */
    bool colour;
    bool shown;
    int64_t next; /* clock_now() of the next update */
    struct log_sink before;
};

#define STATUS_LINE_SILENT ((struct status_line){.fd = -1})

void status_line_open(struct status_line *line, int fd);
/* Removes the line from the screen. Accepts zeroed and silent status lines. */
void status_line_close(struct status_line *line);

/* Returns true if a new text is due; never while silent. */
bool status_line_due(const struct status_line *line, int64_t now);
/* Shows TEXT, ASCII without control bytes, in the terminal's width. Where it is wider, parts that
 * two spaces separate are left out, of those between the first and the last one the last first;
 * then it is cut. FRACTION, the share of the work that is done (0 to 1), is drawn as a bar in the
 * remaining columns; below 0 there is no bar. */
void status_line_show(struct status_line *line, int64_t now, double fraction, const char *text);
void status_line_clear(struct status_line *line);

/* Writes what such a line is on a terminal of COLUMNS, with colours or without: the bar, and as
 * much of TEXT as fits. Returns the size. For callers that do not write to the terminal themselves.
 */
enum { STATUS_LINE_BYTES = STATUS_LINE_MAX + 64 };
size_t status_line_draw(char ret[STATUS_LINE_BYTES], size_t columns, bool colour, double fraction,
                        const char *text);

/* Writes SECONDS as 0:07, 12:34, 1:02:03 or, from two days on, 78 days 4 h. */
void status_duration(char *text, size_t size, double seconds);

#endif
