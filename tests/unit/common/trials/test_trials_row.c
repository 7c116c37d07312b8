#include "tests/unit/common/trials/results.h"

static void a_row_is_of_the_last_rung(void) {
    struct trials_plan p;
    struct trials_state s;
    struct trials_row r;
    results_fill(&p, &s);
    trials_row(&s, 1, &r);
    CU_ASSERT_EQUAL(r.rung, 1);
    CU_ASSERT_DOUBLE_EQUAL(r.score, 0.725, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(r.spread, 0.025, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(r.rate, 100, 0);
    CU_ASSERT_DOUBLE_EQUAL(r.seconds, 40, 0);
    trials_row(&s, 0, &r);
    CU_ASSERT_EQUAL(r.rung, -1);
    CU_ASSERT_DOUBLE_EQUAL(r.seconds, 6, 0);
    CU_ASSERT_STRING_EQUAL(trials_why(&s, 0), "rank 0 ended with 139");
    CU_ASSERT_STRING_EQUAL(trials_why(&s, 1), "");
    trials_state_done(&s);
    trials_plan_done(&p);
}

UNIT_SUITE("common.trials.trials_row", UNIT(a_row_is_of_the_last_rung))
