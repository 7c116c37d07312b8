#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/app/options/interval.h"

static void steps_and_times_are_distinguished(void) {
    struct interval i;
    CU_ASSERT_EQUAL(interval_parse(&i, "500", NULL), 0);
    CU_ASSERT(i.steps == 500 && i.nanoseconds == 0);
    CU_ASSERT_EQUAL(interval_parse(&i, "45s", NULL), 0);
    CU_ASSERT(i.steps == 0 && i.nanoseconds == 45 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(interval_parse(&i, "30m", NULL), 0);
    CU_ASSERT(i.nanoseconds == 1800 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(interval_parse(&i, "2h", NULL), 0);
    CU_ASSERT(i.nanoseconds == 7200 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(interval_parse(&i, "0", NULL), 0);
    CU_ASSERT(i.steps == 0 && i.nanoseconds == 0);
}

static void anything_else_is_refused_with_examples(void) {
    const char *const bad[] = {"", "m", "30M", "1d", "-1", "1.5h", "5 m", "12345678901234567890m"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        struct interval i;
        struct error err = {0};
        CU_ASSERT_EQUAL(interval_parse(&i, bad[k], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "30m");
    }
}

UNIT_SUITE("app.interval", UNIT(steps_and_times_are_distinguished),
           UNIT(anything_else_is_refused_with_examples))
