#include "tests/support/lag_turn.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <stdbool.h>

/* Clocks and sleep in place of the library's: each look at the time that was worked takes a tenth
 * of a millisecond of it, and GAIN more on that clock alone; sleep takes OVER too long. */
static int64_t now, used, gain, over;
static bool is_signalled;

int clock_gettime(clockid_t clock, struct timespec *ret) {
    if (clock == CLOCK_THREAD_CPUTIME_ID) {
        now += 100000;
        used += 100000 + gain;
    }
    int64_t at = clock == CLOCK_THREAD_CPUTIME_ID ? used : now;
    *ret = (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    return 0;
}

int nanosleep(const struct timespec *asked, struct timespec *left) {
    (void)left;
    if (is_signalled) {
        errno = EINTR;
        return -1;
    }
    now += asked->tv_nsec + over;
    return 0;
}

static int64_t turn(int64_t more, int64_t ahead) {
    over = more;
    gain = ahead;
    return lag_turn(LAG_REST);
}

static void what_sleep_took_too_long_is_late(void) {
    int64_t usual = turn(0, 0);
    CU_ASSERT(usual >= 0 && usual <= 200000);
    CU_ASSERT_EQUAL(turn(3000000, 0), usual + 3000000);
}

/* Otherwise it would look like a signal, which ends the measurement. */
static void no_turn_is_early(void) {
    CU_ASSERT_EQUAL(turn(0, 50000), 0);
    CU_ASSERT_EQUAL(turn(0, 300000), 0);
}

static void a_signal_ends_it(void) {
    is_signalled = true;
    CU_ASSERT_EQUAL(turn(0, 0), -1);
    is_signalled = false;
    CU_ASSERT(turn(0, 0) >= 0);
}

UNIT_SUITE("support.lag_turn", UNIT(what_sleep_took_too_long_is_late), UNIT(no_turn_is_early),
           UNIT(a_signal_ends_it))
