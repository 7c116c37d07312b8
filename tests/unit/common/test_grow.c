#include "common/grow.h"

#include "tests/support/unit.h"

#include <stdint.h>
#include <stdlib.h>

struct list {
    int *items;
    size_t count;
    size_t capacity;
};

static void items_stay_as_it_grows(void) {
    struct list l = {0};
    struct error err = {0};
    for (int i = 0; i < 10000; i++) {
        CU_ASSERT_EQUAL_FATAL(
            grow_array(&l.items, &l.capacity, l.count + 1, sizeof(*l.items), "numbers", &err), 0);
        CU_ASSERT_FATAL(l.capacity > l.count);
        l.items[l.count++] = i;
    }
    for (int i = 0; i < 10000; i++)
        CU_ASSERT_EQUAL(l.items[i], i);
    free(l.items);
}

static void it_grows_seldom(void) {
    struct list l = {0};
    unsigned times = 0;
    for (l.count = 0; l.count < 100000; l.count++) {
        size_t before = l.capacity;
        CU_ASSERT_EQUAL_FATAL(
            grow_array(&l.items, &l.capacity, l.count + 1, sizeof(*l.items), "numbers", NULL), 0);
        times += l.capacity != before;
    }
    CU_ASSERT(times < 30);
    CU_ASSERT(l.capacity <= 150001);
    free(l.items);
}

static void what_fits_is_left_alone(void) {
    struct list l = {0};
    CU_ASSERT_EQUAL(grow_array(&l.items, &l.capacity, 0, sizeof(*l.items), "numbers", NULL), 0);
    CU_ASSERT_PTR_NULL(l.items);
    CU_ASSERT_EQUAL(grow_array(&l.items, &l.capacity, 100, sizeof(*l.items), "numbers", NULL), 0);
    const int *before = l.items;
    CU_ASSERT_EQUAL(l.capacity, 100);
    CU_ASSERT_EQUAL(grow_array(&l.items, &l.capacity, 100, sizeof(*l.items), "numbers", NULL), 0);
    CU_ASSERT_PTR_EQUAL(l.items, before);
    CU_ASSERT_EQUAL(l.capacity, 100);
    free(l.items);
}

static void too_much_is_an_error_and_changes_nothing(void) {
    static const size_t wanted[] = {SIZE_MAX / sizeof(int) + 1, SIZE_MAX - 1};
    struct list l = {0};
    CU_ASSERT_EQUAL_FATAL(grow_array(&l.items, &l.capacity, 20, sizeof(*l.items), "numbers", NULL),
                          0);
    const int *before = l.items;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(
            grow_array(&l.items, &l.capacity, wanted[i], sizeof(*l.items), "numbers", &err), -1);
        ASSERT_CONTAINS(err.text, "numbers");
        CU_ASSERT_PTR_EQUAL(l.items, before);
        CU_ASSERT_EQUAL(l.capacity, 20);
    }
    free(l.items);
}

UNIT_SUITE("common.grow", UNIT(items_stay_as_it_grows), UNIT(it_grows_seldom),
           UNIT(what_fits_is_left_alone), UNIT(too_much_is_an_error_and_changes_nothing))
