/* How late this machine is meanwhile: for tests of promises that are kept in seconds.
 *
 *     struct lag lag;
 *     lag_begin(&lag);
 *     ...                                            what is promised within 5 s
 *     ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND);         and is done, later by what the machine was
 *
 * A thread of its own measures, which takes no signal of the process. Begin after a fork of what is
 * to run on without an exec. */
#ifndef TESTS_SUPPORT_LAG_H
#define TESTS_SUPPORT_LAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So often at most a promise's work wakes up, or loses its processor, before it is done; and what
 * it computes by itself, sanitizers included. */
enum { LAG_WAKES = 16, LAG_WORK_MS = 50 };

struct lag {
    pthread_t thread;
    atomic_bool over;
    int64_t begun; /* clock_now() */
    /* Of turns, how late they were, ns; the thread's until it has ended. */
    int64_t worst[LAG_WAKES];
};

void lag_begin(struct lag *lag);

/* Ends it: asserts that no more than PROMISED ns have passed since, LAG_WORK_MS, and what the
 * machine was late when it was so most; shows them when there are more. */
#define ASSERT_WITHIN(lag, promised) lag_assert_within((lag), (promised), __FILE__, __LINE__)
void lag_assert_within(struct lag *lag, int64_t promised, const char *file, int line);

#endif
