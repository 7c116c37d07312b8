#include "common/clock.h"
#include "tests/support/unit.h"

static void the_clock_goes_forward(void) {
    int64_t first = clock_now();
    int64_t second = clock_now();
    CU_ASSERT(second >= first);
    const int64_t before = clock_now();
    first = clock_boot();
    second = clock_boot();
    CU_ASSERT(second >= first && first >= before - CLOCK_SECOND);
    CU_ASSERT(second < clock_wall()); /* since this machine's start, not since 1970 */
}

static void what_is_left_is_rounded_up_and_never_negative(void) {
    CU_ASSERT_EQUAL(clock_left_ms(clock_now() - CLOCK_SECOND), 0);
    int left = clock_left_ms(clock_now() + 3600 * CLOCK_SECOND);
    CU_ASSERT(left > 0 && left <= 3600 * 1000);
    CU_ASSERT_EQUAL(clock_left_ms(INT64_MAX), 2147483647);
}

static void stamps_are_utc_with_milliseconds(void) {
    char text[CLOCK_STAMP_SIZE];
    clock_stamp(INT64_C(951782400) * CLOCK_SECOND + 45 * CLOCK_MILLISECOND, text);
    CU_ASSERT_STRING_EQUAL(text, "2000-02-29T00:00:00.045Z");
}

UNIT_SUITE("common.clock", UNIT(the_clock_goes_forward),
           UNIT(what_is_left_is_rounded_up_and_never_negative),
           UNIT(stamps_are_utc_with_milliseconds))
