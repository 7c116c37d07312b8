/* Times of a run's start, for its log. They reach from the opening of its files to the end of its
 * first step, so that what takes long there is seen; bench/start.sh compares them. */
#ifndef TRAINER_APP_RUN_START_TIMES_H
#define TRAINER_APP_RUN_START_TIMES_H

#include <stdint.h>

enum { START_TIMES_TEXT = 160 };

enum start_part { START_DATA, START_NETWORK, START_WEIGHTS, START_STEP, START_PARTS };

struct start_times {
    int64_t marked;            /* when the last part ended; 0: before start_times_begin */
    int64_t part[START_PARTS]; /* nanoseconds */
};

/* NOW is the time of one monotonic clock in all calls, nanoseconds. */
void start_times_begin(struct start_times *t, int64_t now);
/* PART ends. Time since the last mark is added to it. */
void start_times_mark(struct start_times *t, enum start_part part, int64_t now);
/* Writes all parts to TEXT, in seconds. */
void start_times_text(const struct start_times *t, char text[START_TIMES_TEXT]);

#endif
