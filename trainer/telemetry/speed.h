/* Images a second over the window since the last report: not an average over the run, so that a
 * slow start does not hide in it. */
#ifndef TRAINER_TELEMETRY_SPEED_H
#define TRAINER_TELEMETRY_SPEED_H

#include <stdint.h>

struct speed {
    int64_t since; /* clock_now() at the start of the window */
    int64_t images;
    int64_t waited; /* for data */
};

void speed_start(struct speed *speed, int64_t now);
void speed_add(struct speed *speed, int64_t images);
/* NANOSECONDS in which nothing else was done than to wait for data. */
void speed_wait(struct speed *speed, int64_t nanoseconds);
/* The rate of the window up to NOW and the share of it that was waited, 0 for an empty one; starts
 * the next window. */
double speed_report(struct speed *speed, int64_t now, double *ret_waited);

#endif
