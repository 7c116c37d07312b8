#include "trainer/eval/coco_sort.h"

#include "tests/support/unit.h"

enum { MOST = 300 };

static void check_sorted(size_t count, uint32_t values) {
    struct coco_scored items[MOST], scratch[MOST];
    uint64_t state = 1 + count;
    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        items[i] = (struct coco_scored){(double)((state >> 33) % values), i};
    }
    coco_sort(items, count, scratch);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT_FATAL(
            items[i - 1].score > items[i].score ||
            (items[i - 1].score == items[i].score && items[i - 1].number < items[i].number));
}

static void scores_fall_and_equal_ones_keep_their_order(void) {
    for (size_t count = 0; count <= MOST; count++) {
        check_sorted(count, 3);
        check_sorted(count, 1000000);
    }
}

static void zero_and_minus_zero_are_equal(void) {
    struct coco_scored items[] = {{-0.0, 0}, {0.0, 1}, {-0.0, 2}}, scratch[3];
    coco_sort(items, 3, scratch);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(items[i].number, i);
}

UNIT_SUITE("eval.coco_sort", UNIT(scores_fall_and_equal_ones_keep_their_order),
           UNIT(zero_and_minus_zero_are_equal))
