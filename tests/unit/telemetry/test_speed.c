#include "common/clock.h"
#include "support/unit.h"
#include "telemetry/speed.h"

static void the_rate_is_of_the_window_alone(void) {
    struct speed speed;
    speed_start(&speed, 10 * CLOCK_SECOND);
    speed_add(&speed, 100);
    speed_add(&speed, 100);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 12 * CLOCK_SECOND), 100, 1e-9);
    speed_add(&speed, 300);
    CU_ASSERT_DOUBLE_EQUAL(speed_report(&speed, 13 * CLOCK_SECOND), 300, 1e-9);
}

static void an_empty_window_has_no_rate(void) {
    struct speed speed;
    speed_start(&speed, 5);
    speed_add(&speed, 7);
    CU_ASSERT_EQUAL(speed_report(&speed, 5), 0);
    CU_ASSERT_EQUAL(speed_report(&speed, CLOCK_SECOND), 0);
}

UNIT_MAIN("telemetry.speed", UNIT(the_rate_is_of_the_window_alone),
          UNIT(an_empty_window_has_no_rate))
