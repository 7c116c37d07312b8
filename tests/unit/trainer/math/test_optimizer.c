#include "tests/support/unit.h"
#include "trainer/math/optimizer.h"

/* Two steps on one weight, worked out by hand from torch's documented formula:
 * w = 1, gradient 2 then 4, rate 0.5, momentum 0.5, decay 0.25, scale 0.5. */
static void plain_momentum_follows_the_formula(void) {
    struct optimizer_step step = {
        .rate = 0.5f, .momentum = 0.5f, .weight_decay = 0.25f, .scale = 0.5f};
    float weight = 1, momentum = 0;
    sgd_update(&step, &weight, &momentum, 2);
    CU_ASSERT_EQUAL(momentum, 1.25f);
    CU_ASSERT_EQUAL(weight, 0.375f);
    sgd_update(&step, &weight, &momentum, 4);
    CU_ASSERT_EQUAL(momentum, 2.71875f);
    CU_ASSERT_EQUAL(weight, -0.984375f);
}

static void nesterov_looks_one_step_ahead(void) {
    struct optimizer_step step = {
        .rate = 0.5f, .momentum = 0.5f, .weight_decay = 0.25f, .scale = 0.5f, .nesterov = 1};
    float weight = 1, momentum = 0;
    sgd_update(&step, &weight, &momentum, 2);
    CU_ASSERT_EQUAL(momentum, 1.25f);
    CU_ASSERT_EQUAL(weight, 0.0625f);
}

UNIT_SUITE("kernels.optimizer", UNIT(plain_momentum_follows_the_formula),
           UNIT(nesterov_looks_one_step_ahead))
