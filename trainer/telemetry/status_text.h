/* Texts of the line of progress (common/log/status_line.h): where a training, an evaluation or the
 * writing of pictures stands, and how long the rest takes. */
#ifndef TRAINER_TELEMETRY_STATUS_TEXT_H
#define TRAINER_TELEMETRY_STATUS_TEXT_H

#include "common/log/status_line.h"

#include <stdint.h>

/* Progress of a training run. */
struct status_training {
    int64_t step;
    int64_t steps;
    double epoch;
    double loss;
    double step_seconds; /* mean of recent steps; 0: unknown yet */
    int64_t step_images;
};
void status_text_training(char text[STATUS_LINE_MAX], const struct status_training *at);

/* DONE of OF things took so long; 0: not known yet. */
struct status_work {
    const char *verb;  /* "evaluating" */
    const char *thing; /* "images" */
    int64_t done;
    int64_t of;
    double seconds;
};
void status_text_work(char text[STATUS_LINE_MAX], const struct status_work *at);
/* The text and the bar, if it is time for them. */
void status_text_show(struct status_line *line, int64_t now, const struct status_work *at);

/* DONE of OF, for the bar; 0 where there is nothing to do. */
double status_fraction(int64_t done, int64_t of);

#endif
