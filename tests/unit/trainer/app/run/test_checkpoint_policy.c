#include "trainer/app/run/checkpoint_policy.h"

#include "common/clock.h"
#include "tests/support/unit.h"

static void steps_are_counted_from_the_first_one(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "100", NULL), 0);
    CU_ASSERT_EQUAL(k.saved_step, -1);
    static const int64_t due[] = {100, 200, 1000}, not_due[] = {1, 99, 101, 150};
    for (int i = 0; i < 3; i++)
        CU_ASSERT(checkpoint_policy_falls_on(&k, due[i]) && checkpoint_policy_is_due(&k, due[i]));
    for (int i = 0; i < 4; i++)
        CU_ASSERT_FALSE(checkpoint_policy_falls_on(&k, not_due[i]) ||
                        checkpoint_policy_is_due(&k, not_due[i]));
    CU_ASSERT_FALSE(checkpoint_policy_is_time(&k));
}

static void nothing_is_written_twice(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "10", NULL), 0);
    k.saved_step = 20;
    CU_ASSERT_FALSE(checkpoint_policy_is_due(&k, 20));
    CU_ASSERT(checkpoint_policy_is_due(&k, 30));
    k.asked = true;
    CU_ASSERT(checkpoint_policy_is_due(&k, 21));
    CU_ASSERT_FALSE(checkpoint_policy_is_due(&k, 20));
}

static void time_is_rank_zeros_to_tell(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "1h", NULL), 0);
    CU_ASSERT_FALSE(checkpoint_policy_falls_on(&k, 3600) || checkpoint_policy_is_due(&k, 3600) ||
                    checkpoint_policy_is_time(&k));
    CU_ASSERT(k.since > clock_now() - 60 * CLOCK_SECOND);
    k.since = clock_now() - 3599 * CLOCK_SECOND;
    CU_ASSERT_FALSE(checkpoint_policy_is_time(&k));
    k.since = clock_now() - 3600 * CLOCK_SECOND;
    CU_ASSERT(checkpoint_policy_is_time(&k));
}

static void never_is_never_but_when_asked(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "0", NULL), 0);
    k.since = 0;
    CU_ASSERT_FALSE(checkpoint_policy_falls_on(&k, 0) || checkpoint_policy_is_due(&k, 100) ||
                    checkpoint_policy_is_time(&k));
    k.asked = true;
    CU_ASSERT(checkpoint_policy_is_due(&k, 100));
}

static void another_form_names_the_option(void) {
    struct checkpoint_policy k;
    struct error err = {0};
    CU_ASSERT_EQUAL(checkpoint_policy_open(&k, "often", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--checkpoint-every: ");
}

UNIT_SUITE("app.checkpoint_policy", UNIT(steps_are_counted_from_the_first_one),
           UNIT(nothing_is_written_twice), UNIT(time_is_rank_zeros_to_tell),
           UNIT(never_is_never_but_when_asked), UNIT(another_form_names_the_option))
