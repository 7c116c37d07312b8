#include "common/trials/halving.h"

#include "tests/support/unit.h"

#include <math.h>

static void the_best_part_goes_on(void) {
    const double scores[] = {0.1, 0.7, (double)NAN, 0.7, 0.9, 0.2, 0.3};
    size_t kept[7];
    CU_ASSERT_EQUAL_FATAL(halving_keep(scores, 7, 3, false, kept), 2);
    CU_ASSERT_EQUAL(kept[0], 4);
    CU_ASSERT_EQUAL(kept[1], 1);
    CU_ASSERT_EQUAL_FATAL(halving_keep(scores, 7, 3, true, kept), 2);
    CU_ASSERT_EQUAL(kept[0], 0);
    CU_ASSERT_EQUAL(kept[1], 5);
    CU_ASSERT_EQUAL(halving_order(scores, 7, false, kept), 6);
}

static void one_goes_on_of_few_and_none_of_failures(void) {
    const double scores[] = {0.1, 0.7}, failed[] = {(double)NAN, (double)NAN};
    size_t kept[2];
    CU_ASSERT_EQUAL_FATAL(halving_keep(scores, 2, 4, false, kept), 1);
    CU_ASSERT_EQUAL(kept[0], 1);
    CU_ASSERT_EQUAL(halving_keep(failed, 2, 4, false, kept), 0);
}

UNIT_SUITE("common.trials.halving", UNIT(the_best_part_goes_on),
           UNIT(one_goes_on_of_few_and_none_of_failures))
