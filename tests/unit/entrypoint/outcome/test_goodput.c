#include "entrypoint/outcome/goodput.h"

#include "common/clock.h"
#include "common/exit_code.h"
#include "common/json/json.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

/* Returns the time SECONDS after the start of a job, which is at 1000 s. */
static int64_t at(double seconds) {
    return (int64_t)((1000 + seconds) * (double)CLOCK_SECOND);
}

static void assert_seconds(int64_t time, double seconds) {
    CU_ASSERT_DOUBLE_EQUAL((double)time / (double)CLOCK_SECOND, seconds, 1e-6);
}

static struct goodput begun(void) {
    struct goodput g;
    goodput_begin(&g, at(0));
    return g;
}

static void a_job_that_goes_well_is_useful_once_it_has_started(void) {
    struct goodput g = begun();
    goodput_started(&g, at(5));
    goodput_saved(&g, at(50), 2 * CLOCK_SECOND);
    goodput_end(&g, at(105), false, GOODPUT_RANK);
    assert_seconds(g.startup, 5);
    assert_seconds(g.checkpoints, 2);
    assert_seconds(g.useful, 98);
    assert_seconds(goodput_total(&g), 105);
    CU_ASSERT_DOUBLE_EQUAL(goodput_ratio(&g), 98.0 / 105, 1e-9);
    CU_ASSERT_EQUAL(g.failures, 0);
    goodput_end(&g, at(900), true, GOODPUT_HOST); /* the account is closed */
    assert_seconds(goodput_total(&g), 105);
}

static void what_was_not_saved_is_lost(void) {
    struct goodput g = begun();
    goodput_started(&g, at(1));
    goodput_saved(&g, at(31), CLOCK_SECOND);
    goodput_saved(&g, at(61), 2 * CLOCK_SECOND);
    goodput_saved(&g, at(61), 5 * CLOCK_SECOND); /* another one is being written */
    goodput_failed(&g, at(71), GOODPUT_HOST);
    goodput_started(&g, at(74));
    goodput_failed(&g, at(84), GOODPUT_RANK); /* this attempt has saved nothing */
    goodput_started(&g, at(85));
    goodput_end(&g, at(95), false, GOODPUT_RANK);
    assert_seconds(g.startup, 1);
    assert_seconds(g.checkpoints, 2);
    assert_seconds(g.useful, 58 + 10);
    assert_seconds(g.lost[GOODPUT_HOST], 10);
    assert_seconds(g.down[GOODPUT_HOST], 3);
    assert_seconds(g.lost[GOODPUT_RANK], 10);
    assert_seconds(g.down[GOODPUT_RANK], 1);
    assert_seconds(goodput_total(&g), 95);
    CU_ASSERT_EQUAL(g.failures, 2);
}

static void an_attempt_that_has_not_started_is_down_time_of_the_failure_before(void) {
    struct goodput g = begun();
    goodput_failed(&g, at(4), GOODPUT_LAUNCH);
    goodput_failed(&g, at(6), GOODPUT_HOST);
    goodput_started(&g, at(9));
    goodput_end(&g, at(10), true, GOODPUT_STALL);
    assert_seconds(g.startup, 4);
    assert_seconds(g.down[GOODPUT_LAUNCH], 2);
    assert_seconds(g.down[GOODPUT_HOST], 3);
    assert_seconds(g.lost[GOODPUT_STALL], 1);
    CU_ASSERT_EQUAL(g.failures, 3);
    CU_ASSERT_DOUBLE_EQUAL(goodput_ratio(&g), 0, 1e-9);
}

/* Reports may be from another attempt or from the future, or claim longer pauses than there was
 * time. */
static void what_cannot_be_is_limited(void) {
    struct goodput g = begun();
    goodput_saved(&g, at(3), CLOCK_SECOND);
    goodput_started(&g, at(10));
    goodput_saved(&g, at(9), 500 * CLOCK_SECOND);
    goodput_saved(&g, at(40), 0);
    goodput_failed(&g, at(20), GOODPUT_RANK);
    assert_seconds(g.useful + g.checkpoints, 10);
    assert_seconds(goodput_total(&g), 20);
    goodput_started(&g, at(15));
    goodput_end(&g, at(12), false, GOODPUT_RANK);
    CU_ASSERT(goodput_total(&g) <= at(20) - at(0));
    struct goodput none = begun();
    CU_ASSERT_DOUBLE_EQUAL(goodput_ratio(&none), 1, 1e-9);
}

static void so_far_it_counts_as_going_well(void) {
    struct goodput g = begun();
    goodput_started(&g, at(2));
    const struct goodput now = goodput_at(&g, at(12));
    assert_seconds(now.useful, 10);
    CU_ASSERT_EQUAL(g.useful, 0);
    goodput_failed(&g, at(14), GOODPUT_HOST);
    assert_seconds(goodput_at(&g, at(15)).down[GOODPUT_HOST], 1);
}

static void the_next_master_continues_the_account(void) {
    struct goodput g = begun();
    struct goodput next = {0};
    goodput_started(&g, at(1));
    goodput_saved(&g, at(8), CLOCK_SECOND);
    goodput_failed(&g, at(11), GOODPUT_STALL);
    cleanup_json json_t *told = goodput_json(&g);
    CU_ASSERT(goodput_parse(told, 77 * CLOCK_SECOND, &next));
    CU_ASSERT_EQUAL(goodput_total(&next), goodput_total(&g));
    CU_ASSERT_EQUAL(next.lost[GOODPUT_STALL], g.lost[GOODPUT_STALL]);
    CU_ASSERT_EQUAL(next.failures, 1);
    goodput_started(&next, 79 * CLOCK_SECOND);
    assert_seconds(next.down[GOODPUT_STALL], 2);
}

static void nonsense_is_no_account(void) {
    struct goodput g = {.useful = 5};
    const char *const bad[] = {"[]",
                               "{}",
                               "[1,0,1,1,1,1,1,1,1,1,1,1]",
                               "[1,9,1,1,1,1,1,1,1,1,1,1,1]",
                               "[1,0,-1,1,1,1,1,1,1,1,1,1,1]",
                               "[1,0,\"1\",1,1,1,1,1,1,1,1,1,1]",
                               "[1,0,9223372036854775807,1,1,1,1,1,1,1,1,1,1]"};
    CU_ASSERT_FALSE(goodput_parse(NULL, 0, &g));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_json json_t *object = json_loads(bad[i], 0, NULL);
        CU_ASSERT_PTR_NOT_NULL(object);
        CU_ASSERT_FALSE(goodput_parse(object, 0, &g));
    }
    CU_ASSERT_EQUAL(g.useful, 5);
    cleanup_json json_t *good = json_loads("[1,0,1,1,1,1,1,1,1,1,1,1,1]", 0, NULL);
    CU_ASSERT(goodput_parse(good, 0, &g));
}

static void a_verdict_has_a_cause(void) {
    CU_ASSERT_EQUAL(goodput_cause_of(&(struct verdict){.code = EXIT_CODE_HOST_LOST, .rank = -1}),
                    GOODPUT_HOST);
    CU_ASSERT_EQUAL(goodput_cause_of(&(struct verdict){.code = EXIT_CODE_STALLED, .rank = 3}),
                    GOODPUT_STALL);
    CU_ASSERT_EQUAL(goodput_cause_of(&(struct verdict){.code = 137, .rank = 0}), GOODPUT_RANK);
    CU_ASSERT_EQUAL(goodput_cause_of(&(struct verdict){.code = 137, .rank = -1}), GOODPUT_LAUNCH);
}

static void the_text_names_what_cost_time(void) {
    char text[GOODPUT_TEXT_SIZE];
    struct goodput g = begun();
    goodput_started(&g, at(10));
    goodput_saved(&g, at(90), 4 * CLOCK_SECOND);
    goodput_failed(&g, at(95), GOODPUT_HOST);
    goodput_started(&g, at(97));
    goodput_end(&g, at(110), false, GOODPUT_RANK);
    goodput_text(&g, text);
    CU_ASSERT_STRING_EQUAL(text, "goodput 80.9 %: useful 89.0 s, start-up 10.0 s, checkpoints "
                                 "4.0 s, lost 5.0 s (host 5.0 s), down 2.0 s (host 2.0 s)");
    cleanup_json json_t *record = goodput_record(&g);
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(record, "useful")), 89, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(
        json_real_value(json_object_get(json_object_get(record, "lost"), "host")), 5, 1e-6);
    for (int i = 0; i < GOODPUT_CAUSES; i++)
        g.lost[i] = g.down[i] = INT64_MAX / 64;
    goodput_text(&g, text);
    CU_ASSERT(strlen(text) < sizeof(text) - 1);
}

/* Eight hosts, ten kills an hour at random moments, a checkpoint every ten seconds that pauses
 * training for a tenth of a second, and two seconds until ranks run again. */
static void of_ten_kills_an_hour_three_hundredths_are_left_over(void) {
    enum { HOURS = 200 };
    const double end = HOURS * 3600.0;
    struct goodput g = begun();
    double now = 5;
    double useful = 0;
    srand(3);
    goodput_started(&g, at(now));
    double next_kill = now + 720.0 * rand() / RAND_MAX;
    while (now < end) {
        double saved = now;
        int64_t pause = 0;
        for (; saved + 10.1 < next_kill && saved + 10.1 < end; saved += 10.1) {
            pause += CLOCK_SECOND / 10;
            goodput_saved(&g, at(saved + 10.1), pause);
            useful += 10;
        }
        if (next_kill >= end) {
            useful += end - saved;
            now = end;
            continue;
        }
        goodput_failed(&g, at(next_kill), GOODPUT_HOST);
        now = next_kill + 2;
        goodput_started(&g, at(now));
        next_kill = now + 720.0 * rand() / RAND_MAX;
    }
    goodput_end(&g, at(end), false, GOODPUT_RANK);
    CU_ASSERT(g.failures > 9 * HOURS);
    CU_ASSERT_DOUBLE_EQUAL((double)g.useful / (double)CLOCK_SECOND, useful, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL((double)goodput_total(&g) / (double)CLOCK_SECOND, end, 1e-3);
    CU_ASSERT(goodput_ratio(&g) >= 0.97);
    CU_ASSERT(goodput_ratio(&g) < 0.98); /* the kills cost something */
}

UNIT_SUITE("outcome.goodput", UNIT(a_job_that_goes_well_is_useful_once_it_has_started),
           UNIT(what_was_not_saved_is_lost),
           UNIT(an_attempt_that_has_not_started_is_down_time_of_the_failure_before),
           UNIT(what_cannot_be_is_limited), UNIT(so_far_it_counts_as_going_well),
           UNIT(the_next_master_continues_the_account), UNIT(nonsense_is_no_account),
           UNIT(a_verdict_has_a_cause), UNIT(the_text_names_what_cost_time),
           UNIT(of_ten_kills_an_hour_three_hundredths_are_left_over))
