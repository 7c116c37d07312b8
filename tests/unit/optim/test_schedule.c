#include "optim/schedule.h"
#include "support/unit.h"

static void warm_up_rises_by_step_to_the_peak(void) {
    struct schedule s = {SCHEDULE_COSINE, 0.05, 35, 420};
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 0), 0.05 / 35, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 16), 0.05 * 17 / 35, 1e-15);
    CU_ASSERT_EQUAL(schedule_rate(&s, 34), 0.05);
    CU_ASSERT_EQUAL(schedule_rate(&s, 35), 0.05);
}

static void cosine_halves_in_the_middle_and_ends_near_zero(void) {
    struct schedule s = {SCHEDULE_COSINE, 2.0, 0, 100};
    CU_ASSERT_EQUAL(schedule_rate(&s, 0), 2.0);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 50), 1.0, 1e-12);
    CU_ASSERT(schedule_rate(&s, 99) < 0.001 && schedule_rate(&s, 99) > 0);
}

static void poly2_is_the_square_of_what_is_left(void) {
    struct schedule s = {SCHEDULE_POLY2, 1.0, 20, 120};
    CU_ASSERT_EQUAL(schedule_rate(&s, 20), 1.0);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 70), 0.25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 119), 1e-4, 1e-12);
}

static void step_falls_at_the_three_classic_places(void) {
    struct schedule s = {SCHEDULE_STEP, 0.1, 5, 90};
    CU_ASSERT_EQUAL(schedule_rate(&s, 29), 0.1);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 30), 0.01, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 60), 0.001, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 80), 0.0001, 1e-15);
}

static void constant_stays_and_steps_behind_the_end_repeat_the_last(void) {
    struct schedule s = {SCHEDULE_CONSTANT, 0.3, 2, 10};
    CU_ASSERT_EQUAL(schedule_rate(&s, 0), 0.15);
    CU_ASSERT_EQUAL(schedule_rate(&s, 9), 0.3);
    struct schedule c = {SCHEDULE_COSINE, 0.3, 2, 10};
    CU_ASSERT_EQUAL(schedule_rate(&c, 1000), schedule_rate(&c, 9));
}

static void a_run_that_is_all_warm_up_never_divides_by_nothing(void) {
    struct schedule s = {SCHEDULE_COSINE, 1.0, 10, 10};
    CU_ASSERT_EQUAL(schedule_rate(&s, 9), 1.0);
    CU_ASSERT_EQUAL(schedule_rate(&s, 12), 1.0);
}

static void rates_scale_with_the_global_batch(void) {
    CU_ASSERT_EQUAL(schedule_scale(0.1, 256, 8192), 3.2);
    CU_ASSERT_EQUAL(schedule_scale(0.05, 96, 96), 0.05);
    CU_ASSERT_EQUAL(schedule_scale(0.05, 0, 96), 0.05);
}

static void steps_fall_after_a_third_two_thirds_and_eight_ninths(void) {
    const struct schedule s = {.kind = SCHEDULE_STEP, .peak = 1, .total_steps = 90};
    for (int64_t step = 0; step < 95; step++) {
        double wanted = step < 30 ? 1 : step < 60 ? 0.1 : step < 80 ? 0.01 : 0.001;
        CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, step), wanted, 1e-12);
    }
}

UNIT_MAIN("optim.schedule", UNIT(warm_up_rises_by_step_to_the_peak),
          UNIT(cosine_halves_in_the_middle_and_ends_near_zero),
          UNIT(poly2_is_the_square_of_what_is_left), UNIT(step_falls_at_the_three_classic_places),
          UNIT(constant_stays_and_steps_behind_the_end_repeat_the_last),
          UNIT(a_run_that_is_all_warm_up_never_divides_by_nothing),
          UNIT(rates_scale_with_the_global_batch),
          UNIT(steps_fall_after_a_third_two_thirds_and_eight_ninths))
