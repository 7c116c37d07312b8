#include "tests/support/unit.h"
#include "trainer/app/serve/http/deadlines.h"

static void late_ones_are_found_once_each(void) {
    struct deadlines list = {0};
    struct connection_deadline a = {.at = 10, .fd = 1}, b = {.at = INT64_MAX, .fd = 2},
                               c = {.at = 5, .fd = 3};
    CU_ASSERT_EQUAL(deadlines_next(&list), INT64_MAX);
    deadlines_add(&list, &a);
    deadlines_add(&list, &b);
    deadlines_add(&list, &c);
    CU_ASSERT(list.count == 3 && deadlines_next(&list) == 5);
    CU_ASSERT_PTR_NULL(deadlines_late(&list, 4));
    CU_ASSERT_PTR_EQUAL(deadlines_late(&list, 10), &c);
    CU_ASSERT_PTR_EQUAL(deadlines_late(&list, 10), &a);
    CU_ASSERT_PTR_NULL(deadlines_late(&list, 10));
    CU_ASSERT_EQUAL(deadlines_next(&list), INT64_MAX);
}

static void removed_ones_are_forgotten(void) {
    struct deadlines list = {0};
    struct connection_deadline e[3] = {{.at = 1}, {.at = 2}, {.at = 3}};
    for (int i = 0; i < 3; i++)
        deadlines_add(&list, &e[i]);
    deadlines_remove(&list, &e[1]);
    deadlines_remove(&list, &e[2]);
    CU_ASSERT(list.count == 1 && list.first == &e[0] && deadlines_next(&list) == 1);
    deadlines_remove(&list, &e[0]);
    CU_ASSERT(list.count == 0 && list.first == NULL);
}

UNIT_SUITE("serve.deadlines", UNIT(late_ones_are_found_once_each), UNIT(removed_ones_are_forgotten))
