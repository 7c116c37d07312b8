#include "tests/support/unit.h"
#include "trainer/backend/cpu/detect/rank_select.h"
#include "trainer/math/random.h"

#include <stdlib.h>

enum { MOST = 5000 };

static int falling(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* Against a whole sort; the rest has to be there still. */
static void check(const uint64_t *numbers, size_t count, size_t k) {
    uint64_t expected[MOST], got[MOST];
    for (size_t i = 0; i < count; i++)
        expected[i] = got[i] = numbers[i];
    qsort(expected, count, sizeof(*expected), falling);
    size_t taken = rank_select(got, count, k);
    CU_ASSERT_EQUAL(taken, k < count ? k : count);
    for (size_t i = 0; i < taken; i++)
        CU_ASSERT_EQUAL(got[i], expected[i]);
    qsort(got, count, sizeof(*got), falling);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(got[i], expected[i]);
}

/* None, all, more than there are, and places near both ends. */
static void check_borders(const uint64_t *numbers, size_t count) {
    const size_t borders[] = {0, 1, count / 7, count / 2, count - count / 9, count, count + 3};
    for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
        check(numbers, count, borders[i]);
}

/* Counts on both sides of the one from which on numbers are parted. The low bits make all of them
 * different. */
static void the_greatest_come_first_in_order(void) {
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 66, 100, 1000, MOST};
    uint64_t numbers[MOST];
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        struct random random = random_stream(1, 0, k);
        for (size_t i = 0; i < counts[k]; i++)
            numbers[i] = (uint64_t)random_u32(&random) << 32 | i;
        check_borders(numbers, counts[k]);
    }
}

/* Rising, falling, organ pipes and steps: where a badly chosen pivot would part nothing. */
static void orders_that_are_no_accident(void) {
    uint64_t numbers[MOST];
    for (int order = 0; order < 4; order++) {
        for (size_t i = 0; i < MOST; i++)
            numbers[i] = order == 0   ? i
                         : order == 1 ? MOST - i
                         : order == 2 ? (i < MOST / 2 ? 2 * i : 2 * (MOST - i) - 1)
                                      : (i % 8) * MOST + i;
        check_borders(numbers, MOST);
    }
}

static void numbers_are_sorted(void) {
    uint32_t numbers[] = {7, 0, 0xffffffffu, 3};
    rank_sort_rising(numbers, 4);
    CU_ASSERT(numbers[0] == 0 && numbers[1] == 3 && numbers[2] == 7 && numbers[3] == 0xffffffffu);
}

UNIT_SUITE("cpu.rank_select", UNIT(the_greatest_come_first_in_order),
           UNIT(orders_that_are_no_accident), UNIT(numbers_are_sorted))
