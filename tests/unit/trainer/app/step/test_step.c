/* What the flags of a step say, for a network that tells more of its steps than their loss. */
#include "tests/support/unit.h"
#include "trainer/app/step/step.h"
#include "trainer/comm/comm_driver.h"

#include <math.h>
#include <string.h>

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

/* Notes what is summed. */
struct noted {
    struct comm base;
    int count;
    struct {
        const float *values;
        size_t count;
        enum comm_type type;
    } sums[4];
};

static int note_sum(struct comm *c, void *values, size_t count, enum comm_type type,
                    uint64_t *ret_ticket, struct error *err) {
    struct noted *n = (struct noted *)c;
    (void)err;
    n->sums[n->count].values = values;
    n->sums[n->count].count = count;
    n->sums[n->count].type = type;
    *ret_ticket = (uint64_t)++n->count;
    return 0;
}

/* Gradients may travel in half precision; the flags after them, which count and sum up, do not. */
static void flags_never_travel_in_half_precision(void) {
    static const struct comm_driver driver = {.sum_start = note_sum};
    struct noted noted = {.base = {.driver = &driver, .size = 2}};
    struct network net = {.store = {.flags = 64}};
    struct stepper s = {.net = &net, .comm = &noted.base, .reduce_type = COMM_F32_AS_F16};
    float gradients[64 + STORE_FLAGS];
    uint64_t ticket = 0;
    CU_ASSERT_EQUAL(step_sum_start(&s, gradients, 0, 48, &ticket, NULL), 0);
    CU_ASSERT_EQUAL(step_sum_start(&s, gradients, 48, 16 + STORE_FLAGS, &ticket, NULL), 0);
    CU_ASSERT_EQUAL(noted.count, 3);
    CU_ASSERT_EQUAL(ticket, 3);
    CU_ASSERT(noted.sums[0].count == 48 && noted.sums[0].type == COMM_F32_AS_F16);
    CU_ASSERT(noted.sums[1].values == gradients + 48 && noted.sums[1].count == 16);
    CU_ASSERT_EQUAL(noted.sums[1].type, COMM_F32_AS_F16);
    CU_ASSERT(noted.sums[2].values == gradients + 64 && noted.sums[2].count == STORE_FLAGS);
    CU_ASSERT_EQUAL(noted.sums[2].type, COMM_F32);
    s.reduce_type = COMM_F32;
    noted.count = 0;
    CU_ASSERT_EQUAL(step_sum_start(&s, gradients, 48, 16 + STORE_FLAGS, &ticket, NULL), 0);
    CU_ASSERT(noted.count == 1 && noted.sums[0].count == 16 + STORE_FLAGS);
}

static int diverge(enum comm_type type, float loss, struct error *err) {
    const float flags[STORE_FLAGS] = {[FLAG_LOSS] = loss, [FLAG_IMAGES] = 2};
    const struct backend_optimizer_state state = {.finite = 0, .loss_scale = 1};
    struct network net = {.model = &MODEL};
    struct stepper s = {.net = &net, .loss_scale = 1, .was_finite = true, .reduce_type = type};
    struct step_outcome outcome;
    int result = 0;
    for (int i = 0; i < STEP_BAD_MAX && result == 0; i++)
        result = step_read_outcome(&s, flags, &state, 0.1, &outcome, err);
    return result;
}

static void gradients_that_f16_may_not_hold_are_a_reason_to_name(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(diverge(COMM_F32_AS_F16, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "--reduce-dtype bf16");
    CU_ASSERT_EQUAL(diverge(COMM_F32_AS_F16, NAN, &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "--reduce-dtype"));
    CU_ASSERT_EQUAL(diverge(COMM_F32, 1, &err), -1);
    CU_ASSERT_PTR_NULL(strstr(err.text, "--reduce-dtype"));
}

UNIT_SUITE("app.step", UNIT(a_step_that_changed_nothing_says_why),
           UNIT(every_metric_of_steps_has_a_flag_of_its_own),
           UNIT(means_are_over_the_samples_of_all_ranks),
           UNIT(flags_never_travel_in_half_precision),
           UNIT(gradients_that_f16_may_not_hold_are_a_reason_to_name))
