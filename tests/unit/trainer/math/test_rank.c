#include "tests/support/unit.h"
#include "trainer/math/rank.h"

#include <float.h>
#include <math.h>

static void higher_scores_come_first_and_nan_last(void) {
    static const float falling[] = {INFINITY, FLT_MAX,       2,  1.0000001f, 1,         1e-45f,
                                    0,        -FLT_TRUE_MIN, -1, -FLT_MAX,   -INFINITY, (float)NAN};
    enum { COUNT = sizeof(falling) / sizeof(falling[0]) };
    for (int i = 0; i + 1 < COUNT; i++) {
        CU_ASSERT(rank_of_score(falling[i]) > rank_of_score(falling[i + 1]));
        /* Whatever their places. */
        CU_ASSERT(rank_of(falling[i], 1000000) > rank_of(falling[i + 1], 0));
    }
    CU_ASSERT_EQUAL(rank_of_score(-(float)NAN), rank_of_score((float)NAN));
}

static void equal_scores_go_by_place(void) {
    CU_ASSERT_EQUAL(rank_of_score(-0.0f), rank_of_score(0.0f));
    CU_ASSERT(rank_of(-0.0f, 3) > rank_of(0.0f, 4));
    CU_ASSERT(rank_of(0.0f, 3) > rank_of(-0.0f, 4));
    CU_ASSERT(rank_of((float)NAN, 3) > rank_of((float)NAN, 4));
    CU_ASSERT_EQUAL(rank_place(rank_of(0.25f, 0)), 0);
    CU_ASSERT_EQUAL(rank_place(rank_of(-7, 268568)), 268568);
}

UNIT_SUITE("kernels.rank", UNIT(higher_scores_come_first_and_nan_last),
           UNIT(equal_scores_go_by_place))
