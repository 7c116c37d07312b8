/* Images a second since the last report. The average over the whole run would show a slowdown too
 * late. */
#ifndef TRAINER_TELEMETRY_SPEED_H
#define TRAINER_TELEMETRY_SPEED_H

#include <stdint.h>

struct speed {
    int64_t since; /* clock_now() at the start of the window */
    int64_t images;
    int64_t waited; /* waiting for data */
};

void speed_start(struct speed *speed, int64_t now);
void speed_add(struct speed *speed, int64_t images);
/* Adds NANOSECONDS that were spent only waiting for data. */
void speed_wait(struct speed *speed, int64_t nanoseconds);
/* Returns the rate of the window up to NOW and the share of it spent waiting, 0 for an empty
 * window; starts the next window. */
double speed_report(struct speed *speed, int64_t now, double *ret_waited);

#endif
