/* Two configurations with results: the second is best, the first failed. */
#ifndef TESTS_UNIT_COMMON_TRIALS_RESULTS_H
#define TESTS_UNIT_COMMON_TRIALS_RESULTS_H

#include "common/trials/trials_page.h"
#include "tests/unit/common/trials/plan.h"

#include <math.h>

static inline void results_fill(struct trials_plan *p, struct trials_state *s) {
    struct error err = {0};
    plan_of(p, "{\"flags\": {\"model\": \"resnet20\"}, \"grid\": {\"lr\": [\"<0.1>\", 0.2]}, "
               "\"metric\": \"top1\", \"seeds\": [0, 1], \"halving\": {\"rungs\": [2, 4]}}");
    CU_ASSERT_EQUAL_FATAL(trials_state_open(s, p, &err), 0);
    *trials_state_at(s, 0, 0, 0) = (struct trials_result){.outcome = TRIALS_FAILED,
                                                          .metric = (double)NAN,
                                                          .rate = (double)NAN,
                                                          .seconds = 3,
                                                          .code = 139,
                                                          .why = "rank 0 ended with 139"};
    *trials_state_at(s, 0, 0, 1) =
        (struct trials_result){.outcome = TRIALS_DONE, .metric = 0.5, .rate = 10, .seconds = 3};
    for (size_t rung = 0; rung < 2; rung++)
        for (size_t seed = 0; seed < 2; seed++)
            *trials_state_at(s, rung, 1, seed) =
                (struct trials_result){.outcome = TRIALS_DONE,
                                       .metric = 0.6 + 0.1 * (double)rung + 0.05 * (double)seed,
                                       .rate = 100,
                                       .seconds = 10};
    CU_ASSERT_EQUAL(trials_state_promote(s, &err), 0);
}

static inline void results_have(const struct buf *text, const char *words) {
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(text), words));
    if (strstr(buf_text(text), words) == NULL)
        printf("missing: %s\n%s\n", words, buf_text(text));
}

#endif
