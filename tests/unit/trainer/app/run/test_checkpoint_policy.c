#include "trainer/app/run/checkpoint_policy.h"

#include "common/clock.h"
#include "tests/support/unit.h"

static void steps_are_counted_from_the_first_one(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "100", "24h", NULL), 0);
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
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "10", "24h", NULL), 0);
    k.saved_step = 20;
    CU_ASSERT_FALSE(checkpoint_policy_is_due(&k, 20));
    CU_ASSERT(checkpoint_policy_is_due(&k, 30));
    k.asked = true;
    CU_ASSERT(checkpoint_policy_is_due(&k, 21));
    CU_ASSERT_FALSE(checkpoint_policy_is_due(&k, 20));
}

static void time_is_rank_zeros_to_tell(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "1h", "24h", NULL), 0);
    CU_ASSERT_FALSE(checkpoint_policy_falls_on(&k, 3600) || checkpoint_policy_is_due(&k, 3600) ||
                    checkpoint_policy_is_time(&k));
    CU_ASSERT(k.since > clock_now() - 60 * CLOCK_SECOND);
    k.since = clock_now() - 3540 * CLOCK_SECOND;
    CU_ASSERT_FALSE(checkpoint_policy_is_time(&k));
    k.since = clock_now() - 3600 * CLOCK_SECOND;
    CU_ASSERT(checkpoint_policy_is_time(&k));
}

static void never_is_never_but_when_asked(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "0", "24h", NULL), 0);
    k.since = 0;
    CU_ASSERT_FALSE(checkpoint_policy_falls_on(&k, 0) || checkpoint_policy_is_due(&k, 100) ||
                    checkpoint_policy_is_time(&k));
    k.asked = true;
    CU_ASSERT(checkpoint_policy_is_due(&k, 100));
}

static void another_form_names_the_option(void) {
    struct checkpoint_policy k;
    struct error err = {0};
    CU_ASSERT_EQUAL(checkpoint_policy_open(&k, "often", "24h", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--checkpoint-every: ");
}

/* sqrt(2 C M) - C: with a day between failures, half a second costs least every 293.4 s. */
static void an_automatic_one_learns_from_what_a_checkpoint_costs(void) {
    static const struct {
        double cost, write; /* seconds */
        double every;
    } rows[] = {{0.5, 1, 293.4}, {10, 60, 1304.5}, {0, 0.1, 60},
                {0.01, 0.1, 60}, {3600, 1, 7200},  {0.5, 90, 900}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkpoint_policy k;
        CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "auto", "24h", NULL), 0);
        CU_ASSERT_EQUAL(k.every.nanoseconds, 60 * CLOCK_SECOND);
        const bool other =
            checkpoint_policy_learn(&k, (int64_t)(rows[i].cost * (double)CLOCK_SECOND),
                                    (int64_t)(rows[i].write * (double)CLOCK_SECOND));
        CU_ASSERT_EQUAL(other, rows[i].every > 75);
        CU_ASSERT_DOUBLE_EQUAL((double)k.every.nanoseconds / (double)CLOCK_SECOND, rows[i].every,
                               0.1);
        CU_ASSERT_EQUAL(k.every.steps, 0);
    }
}

static void a_small_change_is_not_another_time(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "auto", "24h", NULL), 0);
    CU_ASSERT(checkpoint_policy_learn(&k, CLOCK_SECOND, 1));
    CU_ASSERT_FALSE(checkpoint_policy_learn(&k, CLOCK_SECOND + CLOCK_SECOND / 3, 1));
    CU_ASSERT(checkpoint_policy_learn(&k, CLOCK_SECOND / 2, 1));
}

static void other_policies_learn_nothing(void) {
    struct checkpoint_policy k;
    CU_ASSERT_EQUAL_FATAL(checkpoint_policy_open(&k, "30m", "24h", NULL), 0);
    CU_ASSERT_FALSE(checkpoint_policy_learn(&k, CLOCK_SECOND, CLOCK_SECOND));
    CU_ASSERT_EQUAL(k.every.nanoseconds, 1800 * CLOCK_SECOND);
}

static void failures_are_some_time_apart(void) {
    static const char *const rows[] = {"0", "0h", "500", "often", ""};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkpoint_policy k;
        struct error err = {0};
        CU_ASSERT_EQUAL(checkpoint_policy_open(&k, "auto", rows[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--mtbf: '");
    }
}

UNIT_SUITE("app.checkpoint_policy", UNIT(steps_are_counted_from_the_first_one),
           UNIT(nothing_is_written_twice), UNIT(time_is_rank_zeros_to_tell),
           UNIT(never_is_never_but_when_asked), UNIT(another_form_names_the_option),
           UNIT(an_automatic_one_learns_from_what_a_checkpoint_costs),
           UNIT(a_small_change_is_not_another_time), UNIT(other_policies_learn_nothing),
           UNIT(failures_are_some_time_apart))
