#include "tests/support/unit.h"
#include "trainer/optim/schedule.h"

struct golden_schedule {
    enum schedule_kind kind;
    double end;
    int64_t total, step;
    double rate, momentum;
};
#include "tests/golden/schedules.h"

static void warm_up_rises_by_step_to_the_peak(void) {
    struct schedule s = {
        .kind = SCHEDULE_COSINE, .peak = 0.05, .warmup_steps = 35, .total_steps = 420};
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 0), 0.05 / 35, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 16), 0.05 * 17 / 35, 1e-15);
    CU_ASSERT_EQUAL(schedule_rate(&s, 34), 0.05);
    CU_ASSERT_EQUAL(schedule_rate(&s, 35), 0.05);
}

static void cosine_halves_in_the_middle_and_ends_near_zero(void) {
    struct schedule s = {
        .kind = SCHEDULE_COSINE, .peak = 2.0, .warmup_steps = 0, .total_steps = 100};
    CU_ASSERT_EQUAL(schedule_rate(&s, 0), 2.0);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 50), 1.0, 1e-12);
    CU_ASSERT(schedule_rate(&s, 99) < 0.001 && schedule_rate(&s, 99) > 0);
}

static void poly2_is_the_square_of_what_is_left(void) {
    struct schedule s = {
        .kind = SCHEDULE_POLY2, .peak = 1.0, .warmup_steps = 20, .total_steps = 120};
    CU_ASSERT_EQUAL(schedule_rate(&s, 20), 1.0);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 70), 0.25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 119), 1e-4, 1e-12);
}

static void step_falls_at_the_three_classic_places(void) {
    struct schedule s = {.kind = SCHEDULE_STEP, .peak = 0.1, .warmup_steps = 5, .total_steps = 90};
    CU_ASSERT_EQUAL(schedule_rate(&s, 29), 0.1);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 30), 0.01, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 60), 0.001, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, 80), 0.0001, 1e-15);
}

static void constant_stays_and_steps_behind_the_end_repeat_the_last(void) {
    struct schedule s = {
        .kind = SCHEDULE_CONSTANT, .peak = 0.3, .warmup_steps = 2, .total_steps = 10};
    CU_ASSERT_EQUAL(schedule_rate(&s, 0), 0.15);
    CU_ASSERT_EQUAL(schedule_rate(&s, 9), 0.3);
    struct schedule c = {
        .kind = SCHEDULE_COSINE, .peak = 0.3, .warmup_steps = 2, .total_steps = 10};
    CU_ASSERT_EQUAL(schedule_rate(&c, 1000), schedule_rate(&c, 9));
}

static void a_run_that_is_all_warm_up_never_divides_by_nothing(void) {
    struct schedule s = {
        .kind = SCHEDULE_COSINE, .peak = 1.0, .warmup_steps = 10, .total_steps = 10};
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

/* Rates of torch 2.15: LinearLR and MultiStepLR on one optimizer, stepped in this order. */
struct torch_rate {
    int64_t step;
    double rate;
};

static void check_torch(const struct schedule *s, const struct torch_rate *rates, size_t count) {
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_DOUBLE_EQUAL(schedule_rate(s, rates[i].step), rates[i].rate,
                               1e-13 * rates[i].rate + 1e-17);
}

static void milestones_and_warm_up_from_a_share_are_torchs(void) {
    static const struct schedule plain = {.kind = SCHEDULE_MILESTONES,
                                          .peak = 0.02,
                                          .warmup_steps = 1000,
                                          .warmup_from = 0.001,
                                          .total_steps = 2500,
                                          .milestones = {1600, 2200},
                                          .milestone_count = 2,
                                          .factor = 0.1};
    static const struct torch_rate rates[] = {
        {0, 2.0000000000000002e-05},    {1, 3.9980000000000007e-05},
        {499, 0.0099900200000000178},   {500, 0.010010000000000017},
        {999, 0.019980020000000074},    {1000, 0.020000000000000073},
        {1001, 0.020000000000000073},   {1599, 0.020000000000000073},
        {1600, 0.0020000000000000074},  {1601, 0.0020000000000000074},
        {2199, 0.0020000000000000074},  {2200, 0.00020000000000000074},
        {2499, 0.00020000000000000074},
    };
    check_torch(&plain, rates, sizeof(rates) / sizeof(rates[0]));
    static const struct schedule within = {.kind = SCHEDULE_MILESTONES,
                                           .peak = 0.08,
                                           .warmup_steps = 50,
                                           .warmup_from = 0.1,
                                           .total_steps = 70,
                                           .milestones = {20, 60},
                                           .milestone_count = 2,
                                           .factor = 0.5};
    static const struct torch_rate early[] = {
        {0, 0.0080000000000000002}, {19, 0.035360000000000016}, {20, 0.01840000000000001},
        {21, 0.019120000000000012}, {49, 0.03928000000000003},  {50, 0.040000000000000029},
        {59, 0.040000000000000029}, {60, 0.020000000000000014}, {69, 0.020000000000000014},
    };
    check_torch(&within, early, sizeof(early) / sizeof(early[0]));
    /* Runs of 6 and 10 steps that end before their warm-up; the last is followed by
     * CosineAnnealingLR. */
    static const struct schedule cut = {.kind = SCHEDULE_CONSTANT,
                                        .peak = 0.1,
                                        .warmup_steps = 12,
                                        .warmup_from = 0.001,
                                        .total_steps = 6};
    static const struct torch_rate slope[] = {
        {0, 0.0001}, {1, 0.008425}, {2, 0.01675}, {3, 0.025075}, {4, 0.0334}, {5, 0.041725},
    };
    check_torch(&cut, slope, sizeof(slope) / sizeof(slope[0]));
    static const struct schedule cosine = {.kind = SCHEDULE_COSINE,
                                           .peak = 1,
                                           .warmup_steps = 20,
                                           .warmup_from = 0.1,
                                           .total_steps = 10};
    static const struct torch_rate rising[] = {{0, 0.1}, {1, 0.145}, {5, 0.325}, {9, 0.505}};
    check_torch(&cosine, rising, sizeof(rising) / sizeof(rising[0]));
    static const struct schedule as_long = {.kind = SCHEDULE_COSINE,
                                            .peak = 1,
                                            .warmup_steps = 10,
                                            .warmup_from = 0.1,
                                            .total_steps = 10};
    static const struct torch_rate all[] = {{0, 0.1}, {1, 0.19}, {5, 0.55}, {9, 0.91}};
    check_torch(&as_long, all, sizeof(all) / sizeof(all[0]));
    static const struct schedule behind = {.kind = SCHEDULE_COSINE,
                                           .peak = 1,
                                           .warmup_steps = 4,
                                           .warmup_from = 0.1,
                                           .total_steps = 12};
    static const struct torch_rate falling[] = {
        {3, 0.775}, {4, 1.0}, {5, 0.9619397662556434}, {8, 0.5}, {11, 0.03806023374435664},
    };
    check_torch(&behind, falling, sizeof(falling) / sizeof(falling[0]));
}

/* Beside torch and TensorFlow's formulas (tests/golden/schedules.py). */
static void rates_and_momentum_are_the_sources(void) {
    for (size_t i = 0; i < sizeof(golden_schedules) / sizeof(golden_schedules[0]); i++) {
        const struct golden_schedule *g = &golden_schedules[i];
        const struct schedule s = {
            .kind = g->kind, .peak = 0.4, .end = g->end, .total_steps = g->total};
        CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, g->step), g->rate, 1e-14);
        CU_ASSERT_DOUBLE_EQUAL(schedule_momentum(&s, g->step, 0.9), g->momentum, 1e-14);
    }
    const struct schedule s = {.kind = SCHEDULE_ONE_CYCLE, .peak = 0.4, .total_steps = 37};
    CU_ASSERT_EQUAL(schedule_rate(&s, 99), schedule_rate(&s, 36));
    CU_ASSERT_EQUAL(schedule_momentum(&s, 99, 0.9), schedule_momentum(&s, 36, 0.9));
}

UNIT_SUITE("optim.schedule", UNIT(rates_and_momentum_are_the_sources),
           UNIT(warm_up_rises_by_step_to_the_peak),
           UNIT(cosine_halves_in_the_middle_and_ends_near_zero),
           UNIT(poly2_is_the_square_of_what_is_left), UNIT(step_falls_at_the_three_classic_places),
           UNIT(constant_stays_and_steps_behind_the_end_repeat_the_last),
           UNIT(a_run_that_is_all_warm_up_never_divides_by_nothing),
           UNIT(rates_scale_with_the_global_batch),
           UNIT(milestones_and_warm_up_from_a_share_are_torchs),
           UNIT(steps_fall_after_a_third_two_thirds_and_eight_ninths))
