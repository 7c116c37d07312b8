/* Virtual time for unit tests of one process.
 *
 * While the clock is held, the clocks of common/clock.h stand still except for the time that a test
 * lets pass. An event loop, or poll(), that has nothing to read does not wait: time moves on to its
 * deadline. So a test of deadlines takes no time, and a slow machine changes nothing. Kernel timers
 * that are set meanwhile (os/boot_timer.h) follow the held clock.
 *
 * Other processes stay in real time: to this one they never answer in time, unless they already
 * have. So this process can give up on one that hangs, but must not wait for one that works, except
 * after held_clock_await_others().
 *
 * For programs that are linked with with_held_clock() of tests/room.cmake. Not thread-safe. */
#ifndef TESTS_SUPPORT_HELD_CLOCK_H
#define TESTS_SUPPORT_HELD_CLOCK_H

#include <stdint.h>

/* Stops all clocks where they are. */
void held_clock_begin(void);
void held_clock_pass(int64_t nanoseconds);
/* From now on waits are real while the clock still stands: whatever other processes do within a
 * minute, they do in time. */
void held_clock_await_others(void);
/* Lets time go on with the machine's clocks. */
void held_clock_end(void);

#endif
