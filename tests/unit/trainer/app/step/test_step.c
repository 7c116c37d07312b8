/* What the flags of a step say, for a network that tells more of its steps than their loss. */
#include "tests/support/unit.h"
#include "trainer/app/step/step.h"

static const struct model_metric LIST[] = {
    [METRIC_LOSS] = {"loss", 0, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", 1, METRIC_SUM, true},
    {"loss_mask", 2, METRIC_MEAN, true},
    {"objects_dropped", 3, METRIC_SUM, true},
    {"of_scores", 4, METRIC_MEAN, false},
    {NULL, 0, METRIC_SUM, false},
};
static const struct model MODEL = {.name = "m", .task = MODEL_CLASSIFY, .metrics = LIST};

static void every_metric_of_steps_has_a_flag_of_its_own(void) {
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, METRIC_LOSS), FLAG_LOSS);
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, METRIC_SAMPLES), FLAG_IMAGES);
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, 2), FLAG_MORE);
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, 3), FLAG_MORE + 1);
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, 4), -1);
    CU_ASSERT_EQUAL(step_flag_of(&MODEL, 5), -1);
    CU_ASSERT(FLAG_MORE + MODEL_METRICS_MAX - 2 <= STORE_FLAGS);
}

static void means_are_over_the_samples_of_all_ranks(void) {
    const float flags[STORE_FLAGS] = {[FLAG_LOSS] = 12,
                                      [FLAG_IMAGES] = 8,
                                      [FLAG_MORE] = 2,
                                      [FLAG_MORE + 1] = 5,
                                      [FLAG_MORE + 2] = 9};
    const struct backend_optimizer_state state = {.finite = 1, .loss_scale = 1};
    struct network net = {.model = &MODEL};
    struct stepper s = {.net = &net, .loss_scale = 1};
    struct step_outcome outcome;
    CU_ASSERT_EQUAL(step_read_outcome(&s, flags, &state, 0.1, &outcome, NULL), 0);
    CU_ASSERT(outcome.applied && !outcome.skipped);
    CU_ASSERT_DOUBLE_EQUAL(outcome.loss, 1.5, 0);
    CU_ASSERT_DOUBLE_EQUAL(outcome.metrics[METRIC_LOSS], 1.5, 0);
    CU_ASSERT_DOUBLE_EQUAL(outcome.metrics[METRIC_SAMPLES], 8, 0);
    CU_ASSERT_DOUBLE_EQUAL(outcome.metrics[2], 0.25, 0);
    CU_ASSERT_DOUBLE_EQUAL(outcome.metrics[3], 5, 0);
    CU_ASSERT_DOUBLE_EQUAL(outcome.metrics[4], 0, 0);
}

static void a_step_that_changed_nothing_says_why(void) {
    static const struct {
        float images, is_void;
        bool finite, applied, skipped, empty;
    } rows[] = {{8, 0, true, true, false, false},
                {8, 0, false, true, true, false},
                {0, 0, true, true, true, true},
                {8, 1, true, false, false, false},
                {8, 1, false, false, false, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const float flags[STORE_FLAGS] = {
            [FLAG_LOSS] = 1, [FLAG_IMAGES] = rows[i].images, [FLAG_VOID] = rows[i].is_void};
        const struct backend_optimizer_state state = {.finite = rows[i].finite, .loss_scale = 1};
        struct network net = {.model = &MODEL};
        struct stepper s = {.net = &net, .loss_scale = 1};
        struct step_outcome outcome;
        CU_ASSERT_EQUAL(step_read_outcome(&s, flags, &state, 0.1, &outcome, NULL), 0);
        CU_ASSERT_EQUAL(outcome.applied, rows[i].applied);
        CU_ASSERT_EQUAL(outcome.skipped, rows[i].skipped);
        CU_ASSERT_EQUAL(outcome.empty, rows[i].empty);
        CU_ASSERT_EQUAL(s.bad_steps, rows[i].applied && !rows[i].finite ? 1 : 0);
        CU_ASSERT_EQUAL(s.was_finite, rows[i].applied && !rows[i].skipped);
    }
}

UNIT_SUITE("app.step", UNIT(a_step_that_changed_nothing_says_why),
           UNIT(every_metric_of_steps_has_a_flag_of_its_own),
           UNIT(means_are_over_the_samples_of_all_ranks))
