#include "tests/unit/common/trials/plan.h"

#include <math.h>
#include <stdlib.h>

static void a_grid_has_all_combinations_once(void) {
    struct trials_plan p;
    struct trials_setting a[TRIALS_AXES_MAX], b[TRIALS_AXES_MAX];
    plan_of(&p, "{\"grid\": {\"lr\": [1, 2], \"momentum\": [3, 4, 5]}, \"metric\": \"a\"}");
    CU_ASSERT_EQUAL(p.count, 6);
    trials_plan_config(&p, 4, a);
    CU_ASSERT_STRING_EQUAL(a[0].name, "lr");
    CU_ASSERT_STRING_EQUAL(a[0].value, "2");
    CU_ASSERT_STRING_EQUAL(a[1].value, "4");
    for (size_t i = 0; i < p.count; i++)
        for (size_t k = 0; k < i; k++) {
            trials_plan_config(&p, i, a);
            trials_plan_config(&p, k, b);
            CU_ASSERT_TRUE(strcmp(a[0].value, b[0].value) != 0 ||
                           strcmp(a[1].value, b[1].value) != 0);
        }
    trials_plan_done(&p);
}

/* Shares of draws below the middle of a range, on its own scale. */
static void draws_fill_their_ranges(void) {
    struct trials_plan p;
    struct trials_setting s[TRIALS_AXES_MAX];
    size_t below[4] = {0};
    plan_of(&p, "{\"random\": {\"count\": 2000, \"seed\": 7, \"space\": {\"a\": {\"log\": [0.001, "
                "10]}, \"b\": {\"uniform\": [-1, 3]}, \"c\": {\"integer\": [1, 4]}, \"d\": "
                "[\"x\", \"y\"]}}, \"metric\": \"m\"}");
    for (size_t i = 0; i < p.count; i++) {
        trials_plan_config(&p, i, s);
        const double a = strtod(s[0].value, NULL), b = strtod(s[1].value, NULL);
        const double c = strtod(s[2].value, NULL);
        CU_ASSERT(a >= 0.001 && a <= 10 && b >= -1 && b <= 3 && c >= 1 && c <= 4 && c == floor(c));
        below[0] += a < 0.1;
        below[1] += b < 1;
        below[2] += c < 3;
        below[3] += s[3].value[0] == 'x';
    }
    /* Five standard deviations of 2,000 draws. */
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT(below[i] > 1000 - 112 && below[i] < 1000 + 112);
    trials_plan_done(&p);
}

static void draws_follow_the_seed(void) {
    struct trials_plan p, q;
    struct trials_setting a[TRIALS_AXES_MAX], b[TRIALS_AXES_MAX];
    const char *text = "{\"random\": {\"count\": 5, \"seed\": 1, \"space\": {\"lr\": {\"uniform\": "
                       "[0, 1]}}}, \"metric\": \"m\"}";
    plan_of(&p, text);
    plan_of(&q, text);
    trials_plan_config(&p, 3, a);
    trials_plan_config(&q, 3, b);
    CU_ASSERT_STRING_EQUAL(a[0].value, b[0].value);
    q.draw_seed = 2;
    trials_plan_config(&q, 3, b);
    CU_ASSERT_STRING_NOT_EQUAL(a[0].value, b[0].value);
    trials_plan_done(&p);
    trials_plan_done(&q);
}

UNIT_SUITE("common.trials.trials_space", UNIT(a_grid_has_all_combinations_once),
           UNIT(draws_fill_their_ranges), UNIT(draws_follow_the_seed))
