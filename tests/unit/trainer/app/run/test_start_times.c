#include "trainer/app/run/start_times.h"

#include "common/clock.h"
#include "tests/support/unit.h"

static void each_part_has_the_time_since_the_mark_before(void) {
    struct start_times t;
    char text[START_TIMES_TEXT];
    const int64_t second = CLOCK_SECOND;
    start_times_begin(&t, 7 * second);
    start_times_mark(&t, START_DATA, 7 * second + second / 4);
    start_times_mark(&t, START_NETWORK, 9 * second);
    start_times_mark(&t, START_WEIGHTS, 9 * second + second / 2);
    start_times_mark(&t, START_STEP, 21 * second);
    start_times_text(&t, text);
    CU_ASSERT_STRING_EQUAL(text, "start-up took 2.50 s: data 0.25, network 1.75, weights 0.50; the "
                                 "first step 11.50 s");
}

UNIT_SUITE("app.start_times", UNIT(each_part_has_the_time_since_the_mark_before))
