#include "trainer/app/run/keep.h"

#include "common/clock.h"
#include "tests/support/unit.h"

static void steps_are_counted_from_the_first_one(void) {
    struct keeping k;
    CU_ASSERT_EQUAL_FATAL(keep_open(&k, "100", NULL), 0);
    CU_ASSERT_EQUAL(k.saved_step, -1);
    static const int64_t due[] = {100, 200, 1000}, not_due[] = {1, 99, 101, 150};
    for (int i = 0; i < 3; i++)
        CU_ASSERT(keep_falls_on(&k, due[i]) && keep_is_due(&k, due[i]));
    for (int i = 0; i < 4; i++)
        CU_ASSERT_FALSE(keep_falls_on(&k, not_due[i]) || keep_is_due(&k, not_due[i]));
    CU_ASSERT_FALSE(keep_is_time(&k));
}

static void nothing_is_written_twice(void) {
    struct keeping k;
    CU_ASSERT_EQUAL_FATAL(keep_open(&k, "10", NULL), 0);
    k.saved_step = 20;
    CU_ASSERT_FALSE(keep_is_due(&k, 20));
    CU_ASSERT(keep_is_due(&k, 30));
    k.asked = true;
    CU_ASSERT(keep_is_due(&k, 21));
    CU_ASSERT_FALSE(keep_is_due(&k, 20));
}

static void time_is_rank_zeros_to_tell(void) {
    struct keeping k;
    CU_ASSERT_EQUAL_FATAL(keep_open(&k, "1h", NULL), 0);
    CU_ASSERT_FALSE(keep_falls_on(&k, 3600) || keep_is_due(&k, 3600) || keep_is_time(&k));
    CU_ASSERT(k.since > clock_now() - 60 * CLOCK_SECOND);
    k.since = clock_now() - 3599 * CLOCK_SECOND;
    CU_ASSERT_FALSE(keep_is_time(&k));
    k.since = clock_now() - 3600 * CLOCK_SECOND;
    CU_ASSERT(keep_is_time(&k));
}

static void never_is_never_but_when_asked(void) {
    struct keeping k;
    CU_ASSERT_EQUAL_FATAL(keep_open(&k, "0", NULL), 0);
    k.since = 0;
    CU_ASSERT_FALSE(keep_falls_on(&k, 0) || keep_is_due(&k, 100) || keep_is_time(&k));
    k.asked = true;
    CU_ASSERT(keep_is_due(&k, 100));
}

static void another_form_names_the_option(void) {
    struct keeping k;
    struct error err = {0};
    CU_ASSERT_EQUAL(keep_open(&k, "often", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--checkpoint-every: ");
}

UNIT_SUITE("run.keep", UNIT(steps_are_counted_from_the_first_one), UNIT(nothing_is_written_twice),
           UNIT(time_is_rank_zeros_to_tell), UNIT(never_is_never_but_when_asked),
           UNIT(another_form_names_the_option))
