#include "tests/support/unit.h"
#include "trainer/math/softmax_loss.h"

enum { CLASSES = 5 };

static void equal_logits_have_the_logarithm_of_their_number(void) {
    const double logits[CLASSES] = {2, 2, 2, 2, 2};
    const float singles[CLASSES] = {2, 2, 2, 2, 2};
    CU_ASSERT_DOUBLE_EQUAL(softmax_log_sum(logits, CLASSES), 2 + log(5), 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(softmax_log_sum_f32(singles, CLASSES), 2 + log(5), 1e-15);
    CU_ASSERT_EQUAL(softmax_log_sum_f32(singles, 1), 2);
}

static void single_precision_is_computed_in_double(void) {
    const float singles[CLASSES] = {-1.5F, 0.1F, 3.25F, -0.0F, 1e-3F};
    double logits[CLASSES];
    for (int k = 0; k < CLASSES; k++)
        logits[k] = (double)singles[k];
    for (int classes = 1; classes <= CLASSES; classes++)
        CU_ASSERT_EQUAL(softmax_log_sum_f32(singles, classes), softmax_log_sum(logits, classes));
}

static void large_logits_do_not_overflow_and_NaN_stays(void) {
    const float large[2] = {3e38F, -3e38F}, none[2] = {1, NAN}, first[2] = {NAN, 1};
    CU_ASSERT_EQUAL(softmax_log_sum_f32(large, 2), (double)3e38F);
    CU_ASSERT(isnan(softmax_log_sum_f32(none, 2)) && isnan(softmax_log_sum_f32(first, 2)));
}

UNIT_SUITE("kernels.softmax_loss", UNIT(equal_logits_have_the_logarithm_of_their_number),
           UNIT(single_precision_is_computed_in_double),
           UNIT(large_logits_do_not_overflow_and_NaN_stays))
