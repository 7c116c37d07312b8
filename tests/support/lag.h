/* Measurement of how late this machine is during a test.
 *
 * The test is of a promise that has to be kept within seconds.
 *
 *     struct lag lag;
 *     lag_begin(&lag);
 *     ...                                            what is promised within 5 s
 *     ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND);         allows for the machine's own delays
 *
 * A separate thread measures, which takes no signals of the process. Fork any child that runs on
 * without an exec before lag_begin(). */
#ifndef TESTS_SUPPORT_LAG_H
#define TESTS_SUPPORT_LAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The most times that the work of a promise wakes up, or loses its processor, before it is done;
 * and the time that it computes, sanitizers included. */
enum { LAG_WAKES = 16, LAG_WORK_MS = 50 };

struct lag {
    pthread_t thread;
    atomic_bool over;
    int64_t begun; /* clock_now() */
    /* The largest delays of turns, in ns; they belong to the thread until it has ended. */
    int64_t worst[LAG_WAKES];
};

void lag_begin(struct lag *lag);

/* Ends the measurement: asserts that no more time has passed since lag_begin() than PROMISED ns
 * plus LAG_WORK_MS plus the machine's largest delays; prints the times if more has. */
#define ASSERT_WITHIN(lag, promised) lag_assert_within((lag), (promised), __FILE__, __LINE__)
void lag_assert_within(struct lag *lag, int64_t promised, const char *file, int line);

#endif
