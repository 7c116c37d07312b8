#include "tests/support/unit.h"
#include "trainer/math/detect_loss.h"

#include <float.h>

static void smooth_l1_is_quadratic_inside_and_linear_outside(void) {
    const double beta = 1.0 / 9;
    CU_ASSERT_DOUBLE_EQUAL(smooth_l1(0.05, beta), 0.01125, 1e-15); /* 9 / 2 * 0.0025 */
    CU_ASSERT_DOUBLE_EQUAL(smooth_l1(-2, beta), 2 - 1.0 / 18, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(smooth_l1(beta, beta), 1.0 / 18, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(smooth_l1_gradient(0.05, beta), 0.45, 1e-15);
    CU_ASSERT_EQUAL(smooth_l1_gradient(-2, beta), -1);
    CU_ASSERT_EQUAL(smooth_l1_gradient(beta, beta), 1);
}

static void without_a_quadratic_part_it_is_the_distance(void) {
    CU_ASSERT_EQUAL(smooth_l1(-0.25, 0), 0.25);
    CU_ASSERT_EQUAL(smooth_l1(0, 0), 0);
    CU_ASSERT_EQUAL(smooth_l1_gradient(1e-30, 0), 1);
    CU_ASSERT_EQUAL(smooth_l1_gradient(-1e-30, 0), -1);
    CU_ASSERT_EQUAL(smooth_l1_gradient(0, 0), 0);
}

static void a_logit_of_0_costs_the_logarithm_of_2(void) {
    for (double target = 0; target <= 1; target += 0.25)
        CU_ASSERT_DOUBLE_EQUAL(logit_loss(0, target), 0.69314718055994531, 1e-15);
    CU_ASSERT_EQUAL(logit_loss_gradient(0, 0.25), 0.25);
}

static void a_logit_of_log_3_is_three_quarters(void) {
    const double logit = 1.0986122886681098;
    CU_ASSERT_DOUBLE_EQUAL(logit_loss(logit, 1), 0.28768207245178093, 1e-15); /* -log 3/4 */
    CU_ASSERT_DOUBLE_EQUAL(logit_loss(logit, 0), 1.3862943611198906, 1e-15);  /* -log 1/4 */
    CU_ASSERT_DOUBLE_EQUAL(logit_loss(-logit, 1), 1.3862943611198906, 1e-15); /* the mirror */
    CU_ASSERT_DOUBLE_EQUAL(logit_loss_gradient(logit, 0.5), 0.25, 1e-15);
}

static void any_logit_is_finite_and_NaN_stays(void) {
    CU_ASSERT_EQUAL(logit_loss(1e4, 1), 0);
    CU_ASSERT_EQUAL(logit_loss(1e4, 0), 1e4);
    CU_ASSERT_EQUAL(logit_loss(-1e300, 1), 1e300);
    CU_ASSERT_EQUAL(logit_loss_gradient(-1e300, 1), -1);
    CU_ASSERT_EQUAL(logit_loss_gradient(1e300, 1), 0);
    CU_ASSERT(isnan(logit_loss(NAN, 1)) && isnan(logit_loss_gradient(NAN, 1)));
    CU_ASSERT(isnan(smooth_l1(NAN, 1)) && isnan(smooth_l1_gradient(NAN, 1)));
}

UNIT_SUITE("kernels.detect_loss", UNIT(smooth_l1_is_quadratic_inside_and_linear_outside),
           UNIT(without_a_quadratic_part_it_is_the_distance),
           UNIT(a_logit_of_0_costs_the_logarithm_of_2), UNIT(a_logit_of_log_3_is_three_quarters),
           UNIT(any_logit_is_finite_and_NaN_stays))
