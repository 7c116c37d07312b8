#include "common/clock.h"
#include "outcome/restart.h"
#include "support/unit.h"

#include <string.h>

static const struct verdict crash = {.code = 137, .transient = true, .text = "a crash"};
static const struct verdict chosen = {.code = 42, .text = "its own word"};
static char why[RESTART_WHY_SIZE];

static bool follows(struct settings s, struct restart_facts f) {
    return restart_follows(&s, &f, why);
}

static void restarts_are_counted(void) {
    const struct settings none = {0};
    const struct settings two = {.restarts = 2};
    CU_ASSERT_FALSE(follows(none, (struct restart_facts){.verdict = &crash, .attempt = 1}));
    CU_ASSERT(follows(two, (struct restart_facts){.verdict = &crash, .attempt = 1}));
    CU_ASSERT(follows(two, (struct restart_facts){.verdict = &crash, .attempt = 2}));
    CU_ASSERT_FALSE(follows(two, (struct restart_facts){.verdict = &crash, .attempt = 3}));
    CU_ASSERT_STRING_EQUAL(why, "");
    CU_ASSERT_FALSE(follows(two, (struct restart_facts){.verdict = &chosen, .attempt = 1}));
    ASSERT_CONTAINS(why, "no restart after such an end");
    const struct verdict stopped = {.code = EXIT_CODE_STOPPED};
    CU_ASSERT_FALSE(follows(two, (struct restart_facts){.verdict = &stopped, .attempt = 1}));
    CU_ASSERT_STRING_EQUAL(why, "");
}

static void without_a_host_only_where_that_was_asked_for(void) {
    struct restart_facts f = {.verdict = &crash, .attempt = 1, .hosts_left = 2, .host_lost = true};
    CU_ASSERT_FALSE(follows((struct settings){.restarts = 1, .min_hosts = 1}, f));
    ASSERT_CONTAINS(why, "RINGMASTER_SHRINK");
    CU_ASSERT(follows((struct settings){.restarts = 1, .min_hosts = 2, .shrink = true}, f));
    CU_ASSERT_FALSE(follows((struct settings){.restarts = 1, .min_hosts = 3, .shrink = true}, f));
    ASSERT_CONTAINS(why, "no restart with 2 hosts, RINGMASTER_MIN_HOSTS is 3");
}

static void pauses_double_up_to_five_minutes(void) {
    CU_ASSERT_EQUAL(restart_pause(1), CLOCK_SECOND);
    CU_ASSERT_EQUAL(restart_pause(4), 8 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(restart_pause(9), 256 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(restart_pause(10), 300 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(restart_pause(1000), 300 * CLOCK_SECOND);
}

static void the_verdict_says_which_attempt_it_was(void) {
    const struct settings none = {0};
    const struct settings two = {.restarts = 2};
    struct verdict v = crash;
    restart_tell(&none, 1, "", &v);
    CU_ASSERT_STRING_EQUAL(v.text, "a crash");
    restart_tell(&two, 3, "", &v);
    CU_ASSERT_STRING_EQUAL(v.text, "a crash; attempt 3 of 3");
    v = chosen;
    restart_tell(&two, 1, "no restart", &v);
    CU_ASSERT_STRING_EQUAL(v.text, "its own word; attempt 1 of 3, no restart");
    v = (struct verdict){.code = 0, .text = "well"};
    restart_tell(&two, 1, "", &v);
    CU_ASSERT_STRING_EQUAL(v.text, "well");
    memset(v.text, 'x', sizeof(v.text) - 1);
    restart_tell(&two, 2, "", &v);
    CU_ASSERT_EQUAL(strlen(v.text), sizeof(v.text) - 1);
}

UNIT_MAIN("outcome.restart", UNIT(restarts_are_counted),
          UNIT(without_a_host_only_where_that_was_asked_for),
          UNIT(pauses_double_up_to_five_minutes), UNIT(the_verdict_says_which_attempt_it_was))
