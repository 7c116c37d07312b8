/* Plans of trials from text. */
#ifndef TESTS_UNIT_COMMON_TRIALS_PLAN_H
#define TESTS_UNIT_COMMON_TRIALS_PLAN_H

#include "common/json/json.h"
#include "common/trials/trials_plan.h"
#include "tests/support/unit.h"

#include <string.h>

static inline int plan_parse(struct trials_plan *ret, const char *text, struct error *err) {
    json_t *root = NULL;
    int result = json_parse(text, strlen(text), "plan", &root, err);
    if (result == 0)
        result = trials_plan_parse(ret, root, "plan", err);
    json_decref(root);
    return result;
}

/* Same as plan_parse, for a valid plan. */
static inline void plan_of(struct trials_plan *ret, const char *text) {
    struct error err = {0};
    const int result = plan_parse(ret, text, &err);
    CU_ASSERT_EQUAL(result, 0);
    if (result != 0)
        printf("%s\n", err.text);
}

/* Eight configurations, halved twice: 8, 4, 2. */
#define PLAN_HALVING                                                                               \
    "{\"grid\": {\"lr\": [1, 2, 3, 4, 5, 6, 7, 8]}, \"metric\": \"top1\", "                        \
    "\"halving\": {\"rungs\": [1, 2, 4], \"factor\": 2}}"

#endif
