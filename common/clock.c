#include "common/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec t;
    (void)clock_gettime(id, &t); /* cannot fail for these clocks */
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

int64_t clock_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_boot(void) {
    return read_clock(CLOCK_BOOTTIME);
}

int clock_left_ms(int64_t deadline) {
    int64_t left = deadline - clock_now();
    if (left <= 0)
        return 0;
    int64_t ms = (left + CLOCK_MILLISECOND - 1) / CLOCK_MILLISECOND;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

void clock_stamp(int64_t wall, char text[CLOCK_STAMP_SIZE]) {
    time_t seconds = (time_t)(wall / CLOCK_SECOND);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t used = strftime(text, CLOCK_STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + used, CLOCK_STAMP_SIZE - used, ".%03dZ",
             (int)(wall / CLOCK_MILLISECOND % 1000));
}
