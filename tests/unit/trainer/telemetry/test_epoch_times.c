#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/epoch_times.h"

static void the_time_of_an_epoch_is_divided(void) {
    struct epoch_times t = {0};
    struct epoch_summary s;
    epoch_times_begin(&t, 100 * CLOCK_SECOND, true);
    epoch_times_images(&t, 600);
    epoch_times_add(&t, EPOCH_CHECKPOINTS, 2 * CLOCK_SECOND);
    epoch_times_add(&t, EPOCH_EVALUATIONS, 3 * CLOCK_SECOND);
    epoch_times_add(&t, EPOCH_CHECKPOINTS, CLOCK_SECOND);
    CU_ASSERT_FATAL(epoch_times_end(&t, 116 * CLOCK_SECOND, &s));
    CU_ASSERT_DOUBLE_EQUAL(s.seconds, 16, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.images_per_second, 60, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.checkpoint_seconds, 3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.eval_seconds, 3, 1e-9);
    epoch_times_images(&t, 10);
    CU_ASSERT_FATAL(epoch_times_end(&t, 117 * CLOCK_SECOND, &s));
    CU_ASSERT_DOUBLE_EQUAL(s.seconds, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s.images_per_second, 10, 1e-9);
}

static void an_epoch_that_was_not_seen_whole_is_left_out(void) {
    struct epoch_times t = {0};
    struct epoch_summary s;
    epoch_times_begin(&t, 0, false);
    epoch_times_images(&t, 10);
    CU_ASSERT(!epoch_times_end(&t, CLOCK_SECOND, &s));
    CU_ASSERT(!epoch_times_end(&t, 2 * CLOCK_SECOND, &s)); /* no images */
    epoch_times_images(&t, 10);
    CU_ASSERT(epoch_times_end(&t, 3 * CLOCK_SECOND, &s));
}

UNIT_SUITE("telemetry.epoch_times", UNIT(the_time_of_an_epoch_is_divided),
           UNIT(an_epoch_that_was_not_seen_whole_is_left_out))
