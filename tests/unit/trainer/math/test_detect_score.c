#include "tests/support/unit.h"
#include "trainer/math/detect_score.h"

#include <math.h>

static void probabilities_are_those_of_softmax(void) {
    static const float logits[] = {0, 1.0986123F, -1e4F, 1e-8F}; /* 1 : 3 : 0 : 1 */
    struct detect_softmax s = detect_softmax(logits, 4);
    CU_ASSERT_DOUBLE_EQUAL((double)detect_probability(&s, logits[0]), 0.2, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL((double)detect_probability(&s, logits[1]), 0.6, 1e-7);
    CU_ASSERT_EQUAL(detect_probability(&s, logits[2]), 0);
}

static void great_logits_do_not_overflow(void) {
    static const float logits[] = {3e38F, 3e38F, -3e38F};
    struct detect_softmax s = detect_softmax(logits, 3);
    CU_ASSERT_EQUAL(detect_probability(&s, logits[0]), 0.5F);
    CU_ASSERT_EQUAL(detect_probability(&s, logits[2]), 0);
}

static void what_is_no_number_is_above_no_threshold(void) {
    static const float odd[][3] = {
        {0, NAN, 1}, {NAN, 0, 1}, {INFINITY, 0, 1}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int i = 0; i < 4; i++) {
        struct detect_softmax s = detect_softmax(odd[i], 3);
        for (int k = 0; k < 3; k++)
            CU_ASSERT(!(detect_probability(&s, odd[i][k]) > 0));
    }
}

static void few_classes_can_be_likely(void) {
    CU_ASSERT_EQUAL(detect_likely(0.05F, 91), 21);
    CU_ASSERT_EQUAL(detect_likely(0.5F, 91), 3);
    CU_ASSERT_EQUAL(detect_likely(0.05F, 5), 5);
    CU_ASSERT_EQUAL(detect_likely(0, 91), 91);
}

UNIT_SUITE("kernels.detect_score", UNIT(probabilities_are_those_of_softmax),
           UNIT(great_logits_do_not_overflow), UNIT(what_is_no_number_is_above_no_threshold),
           UNIT(few_classes_can_be_likely))
