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
#ifndef COMMON_STATUS_LINE_H
#define COMMON_STATUS_LINE_H

#include "common/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_LINE_MAX = 256 };

struct status_line {
    int fd; /* borrowed; -1: silent */
    bool colour;
    bool shown;
    int64_t next; /* clock_now() of the next one */
    struct log_sink before;
};

#define STATUS_LINE_SILENT ((struct status_line){.fd = -1})

void status_line_open(struct status_line *line, int fd);
/* Leaves nothing on the screen. Zeroed and silent ones are fine. */
void status_line_close(struct status_line *line);

/* Is it time for a new text? Never while silent. */
bool status_line_due(const struct status_line *line, int64_t now);
/* TEXT is ASCII without control bytes, and cut at the terminal's width. FRACTION of the work is
 * done, 0 to 1: shown as a bar in the columns that TEXT leaves; below 0 there is no bar. */
void status_line_show(struct status_line *line, int64_t now, double fraction, const char *text);
void status_line_clear(struct status_line *line);

/* SECONDS as 0:07, 12:34, 1:02:03 or, from two days on, 78 days 4 h. */
void status_duration(char *text, size_t size, double seconds);

#endif
