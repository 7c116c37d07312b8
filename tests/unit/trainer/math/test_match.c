#include "tests/support/unit.h"
#include "trainer/math/match.h"

#include <math.h>

static void labels_change_at_the_thresholds(void) {
    CU_ASSERT_EQUAL(match_label(0, 0.3f, 0.7f), MATCH_BACKGROUND);
    CU_ASSERT_EQUAL(match_label(nextafterf(0.3f, 0), 0.3f, 0.7f), MATCH_BACKGROUND);
    CU_ASSERT_EQUAL(match_label(0.3f, 0.3f, 0.7f), MATCH_IGNORED);
    CU_ASSERT_EQUAL(match_label(nextafterf(0.7f, 0), 0.3f, 0.7f), MATCH_IGNORED);
    CU_ASSERT_EQUAL(match_label(0.7f, 0.3f, 0.7f), MATCH_OBJECT);
    CU_ASSERT_EQUAL(match_label(1, 0.3f, 0.7f), MATCH_OBJECT);
}

static void inside_is_from_0_and_in_front_of_the_border(void) {
    static const float inside[4] = {0, 0, 99, 49}, left[4] = {-0.5f, 0, 9, 9};
    static const float right[4] = {0, 0, 100, 9}, low[4] = {0, 0, 9, 50}, high[4] = {0, -1, 9, 9};
    CU_ASSERT(match_inside(inside, 50, 100));
    CU_ASSERT(!match_inside(left, 50, 100));
    CU_ASSERT(!match_inside(right, 50, 100));
    CU_ASSERT(!match_inside(low, 50, 100));
    CU_ASSERT(!match_inside(high, 50, 100));
}

UNIT_SUITE("kernels.match", UNIT(labels_change_at_the_thresholds),
           UNIT(inside_is_from_0_and_in_front_of_the_border))
