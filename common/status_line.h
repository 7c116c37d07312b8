/* One line at the foot of a terminal that says how far a long piece of work has come, rewritten in
 * place a few times a second. Silent wherever it would be in the way: where the descriptor is no
 * terminal, where TERM is unset or "dumb". It has no colours, so NO_COLOR changes nothing.
 *
 * Whoever prints elsewhere on that terminal clears the line first; log lines do by themselves while
 * it is open. One thread uses it. */
#ifndef COMMON_STATUS_LINE_H
#define COMMON_STATUS_LINE_H

#include "common/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATUS_LINE_MAX = 256 };

struct status_line {
    int fd; /* borrowed; -1: silent */
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
/* TEXT is ASCII without control bytes, and cut at the terminal's width. */
void status_line_show(struct status_line *line, int64_t now, const char *text);
void status_line_clear(struct status_line *line);

/* Where a training run stands. */
struct status_training {
    int64_t step;
    int64_t steps;
    double epoch;
    double loss;
    double step_seconds; /* of late; 0: not known yet */
    int64_t step_images;
};
void status_text_training(char text[STATUS_LINE_MAX], const struct status_training *at);
/* IMAGES of OF took so long; 0: not known yet. */
void status_text_evaluation(char text[STATUS_LINE_MAX], int64_t images, int64_t of, double seconds);

/* SECONDS as 0:07, 12:34, 1:02:03 or, from two days on, 78 days 4 h. */
void status_duration(char *text, size_t size, double seconds);

#endif
