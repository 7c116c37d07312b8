#include "trainer/telemetry/speed.h"

#include "common/clock.h"

void speed_start(struct speed *speed, int64_t now) {
    *speed = (struct speed){.since = now};
}

void speed_add(struct speed *speed, int64_t images) {
    speed->images += images;
}

void speed_wait(struct speed *speed, int64_t nanoseconds) {
    speed->waited += nanoseconds;
}

double speed_report(struct speed *speed, int64_t now, double *ret_waited) {
    int64_t passed = now - speed->since;
    *ret_waited = passed > 0 ? (double)speed->waited / (double)passed : 0;
    double rate = passed > 0 ? (double)speed->images * CLOCK_SECOND / (double)passed : 0;
    speed_start(speed, now);
    return rate;
}
