#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/speed.h"

static void the_rate_is_of_the_window_alone(void) {
    struct speed speed = {0};
    double waited[SPEED_WAITS];
    speed_start(&speed, 10 * CLOCK_SECOND);
    speed_add(&speed, 100);
    speed_add(&speed, 100);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 12 * CLOCK_SECOND, waited), 100, 1e-9);
    speed_add(&speed, 300);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 13 * CLOCK_SECOND, waited), 300, 1e-9);
}

static void an_empty_window_has_no_rate(void) {
    struct speed speed = {0};
    double waited[SPEED_WAITS];
    speed_start(&speed, 5);
    speed_add(&speed, 7);
    CU_ASSERT_EQUAL(speed_report(&speed, 5, waited), 0);
    CU_ASSERT_EQUAL(speed_report(&speed, CLOCK_SECOND, waited), 0);
}

static void waiting_is_a_share_of_the_window(void) {
    struct speed speed = {0};
    double waited[SPEED_WAITS];
    speed_start(&speed, 0);
    speed_wait(&speed, WAIT_DATA, CLOCK_SECOND);
    speed_wait(&speed, WAIT_DATA, CLOCK_SECOND / 2);
    speed_wait(&speed, WAIT_RANKS, 3 * CLOCK_SECOND);
    (void)speed_report(&speed, 6 * CLOCK_SECOND, waited);
    CU_ASSERT_DOUBLE_EQUAL(waited[WAIT_DATA], 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(waited[WAIT_RANKS], 0.5, 1e-9);
    (void)speed_report(&speed, 7 * CLOCK_SECOND, waited);
    CU_ASSERT_EQUAL(waited[WAIT_DATA], 0);
    CU_ASSERT_EQUAL(waited[WAIT_RANKS], 0);
}

static void the_time_of_an_epoch_is_divided(void) {
    struct speed t = {0};
    struct epoch_summary s;
    speed_begin_epoch(&t, 100 * CLOCK_SECOND, true);
    speed_add(&t, 600);
    speed_add_part(&t, EPOCH_CHECKPOINTS, 2 * CLOCK_SECOND);
    speed_add_part(&t, EPOCH_EVALUATIONS, 3 * CLOCK_SECOND);
    speed_add_part(&t, EPOCH_CHECKPOINTS, CLOCK_SECOND);
    CU_ASSERT_FATAL(speed_end_epoch(&t, 116 * CLOCK_SECOND, &s));
    CU_ASSERT_DOUBLE_EQUAL(s.seconds, 16, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.images_per_second, 60, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.checkpoint_seconds, 3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.eval_seconds, 3, 1e-9);
    speed_add(&t, 10);
    CU_ASSERT_FATAL(speed_end_epoch(&t, 117 * CLOCK_SECOND, &s));
    CU_ASSERT_DOUBLE_EQUAL(s.seconds, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.images_per_second, 10, 1e-9);
}

static void an_epoch_that_was_not_seen_whole_is_left_out(void) {
    struct speed t = {0};
    struct epoch_summary s;
    speed_begin_epoch(&t, 0, false);
    speed_add(&t, 10);
    CU_ASSERT(!speed_end_epoch(&t, CLOCK_SECOND, &s));
    CU_ASSERT(!speed_end_epoch(&t, 2 * CLOCK_SECOND, &s)); /* no images */
    speed_add(&t, 10);
    CU_ASSERT(speed_end_epoch(&t, 3 * CLOCK_SECOND, &s));
}

/* A report in the middle of an epoch does not begin it anew. */
static void a_window_leaves_the_epoch_alone(void) {
    struct speed t = {0};
    struct epoch_summary s;
    double waited[SPEED_WAITS];
    speed_begin_epoch(&t, 0, true);
    speed_start(&t, 0);
    speed_add(&t, 30);
    (void)speed_report(&t, CLOCK_SECOND, waited);
    speed_add(&t, 30);
    CU_ASSERT_FATAL(speed_end_epoch(&t, 2 * CLOCK_SECOND, &s));
    CU_ASSERT_DOUBLE_EQUAL(s.images_per_second, 30, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&t, 2 * CLOCK_SECOND, waited), 30, 1e-9);
}

UNIT_SUITE("telemetry.speed", UNIT(the_rate_is_of_the_window_alone),
           UNIT(waiting_is_a_share_of_the_window), UNIT(an_empty_window_has_no_rate),
           UNIT(the_time_of_an_epoch_is_divided),
           UNIT(an_epoch_that_was_not_seen_whole_is_left_out),
           UNIT(a_window_leaves_the_epoch_alone))
