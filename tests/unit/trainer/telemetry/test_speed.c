#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/speed.h"

static void the_rate_is_of_the_window_alone(void) {
    struct speed speed;
    double waited = 0;
    speed_start(&speed, 10 * CLOCK_SECOND);
    speed_add(&speed, 100);
    speed_add(&speed, 100);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 12 * CLOCK_SECOND, &waited), 100, 1e-9);
    speed_add(&speed, 300);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 13 * CLOCK_SECOND, &waited), 300, 1e-9);
}

static void an_empty_window_has_no_rate(void) {
    struct speed speed;
    double waited = 0;
    speed_start(&speed, 5);
    speed_add(&speed, 7);
    CU_ASSERT_EQUAL(speed_report(&speed, 5, &waited), 0);
    CU_ASSERT_EQUAL(speed_report(&speed, CLOCK_SECOND, &waited), 0);
}

static void waiting_is_a_share_of_the_window(void) {
    struct speed speed;
    double waited = 0;
    speed_start(&speed, 0);
    speed_wait(&speed, CLOCK_SECOND);
    speed_wait(&speed, CLOCK_SECOND / 2);
    (void)speed_report(&speed, 6 * CLOCK_SECOND, &waited);
    CU_ASSERT_DOUBLE_EQUAL(waited, 0.25, 1e-9);
    (void)speed_report(&speed, 7 * CLOCK_SECOND, &waited);
    CU_ASSERT_EQUAL(waited, 0);
}

UNIT_SUITE("telemetry.speed", UNIT(the_rate_is_of_the_window_alone),
           UNIT(waiting_is_a_share_of_the_window), UNIT(an_empty_window_has_no_rate))
