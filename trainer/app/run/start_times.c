#include "trainer/app/run/start_times.h"

#include "common/clock.h"

#include <stdio.h>

static double seconds_of(const struct start_times *t, enum start_part part) {
    return (double)t->part[part] / (double)CLOCK_SECOND;
}

void start_times_begin(struct start_times *t, int64_t now) {
    *t = (struct start_times){.marked = now};
}

void start_times_mark(struct start_times *t, enum start_part part, int64_t now) {
    t->part[part] += now - t->marked;
    t->marked = now;
}

void start_times_text(const struct start_times *t, char text[START_TIMES_TEXT]) {
    int64_t before = 0;
    for (int part = 0; part < START_STEP; part++)
        before += t->part[part];
    (void)snprintf(text, START_TIMES_TEXT,
                   "start-up took %.2f s: data %.2f, network %.2f, weights %.2f; the first step "
                   "%.2f s",
                   (double)before / (double)CLOCK_SECOND, seconds_of(t, START_DATA),
                   seconds_of(t, START_NETWORK), seconds_of(t, START_WEIGHTS),
                   seconds_of(t, START_STEP));
}
