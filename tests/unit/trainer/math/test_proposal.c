#include "tests/support/unit.h"
#include "trainer/math/proposal.h"

static void what_is_none_ranks_behind_everything(void) {
    const struct proposal_rule rule = {.min_side = 1};
    static const float large[4] = {0, 0, 9, 9}, small[4] = {0, 0, 9, 0.5f}, bad[4] = {0, 0, 9, NAN};
    CU_ASSERT_EQUAL(proposal_score(&rule, 1, 0, large), 0.5f);
    CU_ASSERT_EQUAL(proposal_score(&rule, 1, -INFINITY, large), 0);
    CU_ASSERT_EQUAL(proposal_score(&rule, 1, 0, small), -INFINITY);
    CU_ASSERT_EQUAL(proposal_score(&rule, 1, 0, bad), -INFINITY);
    CU_ASSERT_EQUAL(proposal_score(&rule, 1, NAN, large), -INFINITY);
    CU_ASSERT_EQUAL(proposal_score(&rule, 0, 0, large), -INFINITY);
}

static void rules_may_differ(void) {
    static const float square[4] = {0, 0, 1, 1};
    const struct proposal_rule by_logit = {.min_side = 1, .by_logit = 1};
    const struct proposal_rule above = {.min_side = 1, .exclusive = 1};
    const struct proposal_rule pixels = {.min_side = 1, .exclusive = 1, .plus = 1};
    CU_ASSERT_EQUAL(proposal_score(&by_logit, 1, -7, square), -7);
    CU_ASSERT_EQUAL(proposal_score(&above, 1, 0, square), -INFINITY);
    CU_ASSERT_EQUAL(proposal_score(&pixels, 1, 0, square), 0.5f);
}

UNIT_SUITE("kernels.proposal", UNIT(what_is_none_ranks_behind_everything), UNIT(rules_may_differ))
