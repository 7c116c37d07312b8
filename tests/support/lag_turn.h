/* One look at how late this machine is: a sleep (10 ms) and then a tenth of a millisecond of a
 * processor, as processes under test want them in turn. */
#ifndef TESTS_SUPPORT_LAG_TURN_H
#define TESTS_SUPPORT_LAG_TURN_H

#include <stdint.h>
#include <time.h>

enum { LAG_REST = 10000000 }; /* ns */

static inline int64_t lag_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What it waited beyond REST ns of sleep and that work, ns; -1 where a signal came. The two clocks
 * are read one after the other, and what the kernel does in between counts as work: a turn that
 * lost nothing may seem to have gained that much. */
static inline int64_t lag_turn(int64_t rest) {
    const int64_t work = 100000;
    const struct timespec sleep = {.tv_nsec = rest};
    int64_t began = lag_now(CLOCK_MONOTONIC), worked = lag_now(CLOCK_THREAD_CPUTIME_ID);
    if (nanosleep(&sleep, NULL) != 0)
        return -1;
    while (lag_now(CLOCK_THREAD_CPUTIME_ID) - worked < work)
        ;
    int64_t used = lag_now(CLOCK_THREAD_CPUTIME_ID) - worked;
    int64_t late = lag_now(CLOCK_MONOTONIC) - began - rest - used;
    return late > 0 ? late : 0;
}

#endif
