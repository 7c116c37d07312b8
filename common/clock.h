/* System clocks and deadlines in nanoseconds.
 *
 * Deadlines are points on the monotonic clock in nanoseconds, so that setting the wall clock
 * neither fires nor delays anything. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_SECOND INT64_C(1000000000)
#define CLOCK_MILLISECOND INT64_C(1000000)

/* Nanoseconds since some fixed point; never goes back. */
int64_t clock_now(void);

/* Nanoseconds since 1970, for stamps that other hosts read. */
int64_t clock_wall(void);

/* Nanoseconds since this machine was started, including time asleep; never steps. Other machines
 * can order such times once they know the offset between the clocks. */
int64_t clock_boot(void);

/* Milliseconds until DEADLINE, rounded up: 0 once it has passed, at most INT_MAX. Suits poll and
 * epoll_wait. */
int clock_left_ms(int64_t deadline);

enum { CLOCK_STAMP_SIZE = 32 };
/* Writes "2026-11-21T02:03:04.567Z" for a wall time. */
void clock_stamp(int64_t wall, char text[CLOCK_STAMP_SIZE]);

#endif
