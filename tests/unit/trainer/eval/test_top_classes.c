#include "tests/support/unit.h"
#include "trainer/eval/top_classes.h"

#include <math.h>
#include <stdlib.h>

static void best_come_first_with_their_softmax(void) {
    const float logits[] = {0, 2, 1, 2};
    struct top_class best[4];
    const double sum = 2 * exp(2) + exp(1) + 1;
    CU_ASSERT_EQUAL(top_classes_find(logits, 4, 3, best), 3);
    CU_ASSERT(best[0].class == 1 && best[1].class == 3 && best[2].class == 2);
    CU_ASSERT_DOUBLE_EQUAL(best[0].probability, exp(2) / sum, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(best[2].probability, exp(1) / sum, 1e-12);
    CU_ASSERT_EQUAL(top_classes_find(logits, 4, 1, best), 1);
    CU_ASSERT_EQUAL(best[0].class, 1);
}

static void what_is_not_finite_comes_last_and_is_null(void) {
    const float logits[] = {NAN, 1};
    char *const names[] = {(char *)(uintptr_t) "a", (char *)(uintptr_t) "b\xff"};
    struct top_class best[3];
    CU_ASSERT_EQUAL(top_classes_find(logits, 2, 2, best), 2);
    CU_ASSERT(best[0].class == 1 && best[1].class == 0 && !isfinite(best[1].probability));
    cleanup_json json_t *list = top_classes_json(names, best, 2);
    char *text = json_dumps(list, JSON_COMPACT | JSON_ENSURE_ASCII);
    CU_ASSERT_STRING_EQUAL(text, "[{\"name\":\"b\\uFFFD\",\"index\":1,\"probability\":null},"
                                 "{\"name\":\"a\",\"index\":0,\"probability\":null}]");
    free(text);
}

UNIT_SUITE("eval.top_classes", UNIT(best_come_first_with_their_softmax),
           UNIT(what_is_not_finite_comes_last_and_is_null))
