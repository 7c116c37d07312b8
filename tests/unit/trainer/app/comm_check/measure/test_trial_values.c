#include "tests/support/unit.h"
#include "trainer/app/comm_check/measure/trial_values.h"

#include <math.h>

enum { COUNT = 1000 };

static void add_up(float sums[COUNT], int ranks) {
    float own[COUNT];
    for (int i = 0; i < COUNT; i++)
        sums[i] = 0;
    for (int rank = 0; rank < ranks; rank++) {
        trial_values_fill(own, COUNT, rank);
        for (int i = 0; i < COUNT; i++)
            sums[i] += own[i];
    }
}

static void right_sums_are_right(void) {
    float sums[COUNT];
    static const int ranks[] = {1, 2, 3, 16, 1000};
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        add_up(sums, ranks[i]);
        CU_ASSERT_EQUAL(trial_values_wrong(sums, COUNT, ranks[i]), 0);
        CU_ASSERT(trial_values_wrong(sums, COUNT, ranks[i] + 1) > COUNT / 2);
    }
}

static void each_wrong_sum_is_counted(void) {
    float sums[COUNT];
    add_up(sums, 3);
    sums[7] = nextafterf(sums[7], 1e9F);
    sums[500] = NAN;
    sums[999] += 1;
    CU_ASSERT_EQUAL(trial_values_wrong(sums, COUNT, 3), 3);
}

/* If another rank's values replace a rank's own, that is noticed. */
static void ranks_have_values_of_their_own(void) {
    float a[COUNT], b[COUNT];
    for (int rank = 1; rank < 64; rank++) {
        int same = 0;
        trial_values_fill(a, COUNT, 0);
        trial_values_fill(b, COUNT, rank);
        for (int i = 0; i < COUNT; i++)
            same += a[i] == b[i];
        CU_ASSERT_EQUAL(same, 0);
    }
}

UNIT_SUITE("app.comm_check.measure.trial_values", UNIT(right_sums_are_right),
           UNIT(each_wrong_sum_is_counted), UNIT(ranks_have_values_of_their_own))
