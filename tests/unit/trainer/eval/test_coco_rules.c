#include "trainer/eval/coco_rules.h"

#include "tests/support/unit.h"

static void thresholds_are_numpys_doubles(void) {
    static const double WANTED[] = {0x1.0p-1,
                                    0x1.199999999999ap-1,
                                    0x1.3333333333333p-1,
                                    0x1.4cccccccccccdp-1,
                                    0x1.6666666666666p-1,
                                    0x1.8p-1,
                                    0x1.999999999999ap-1,
                                    0x1.b333333333333p-1,
                                    0x1.cccccccccccccp-1,
                                    0x1.e666666666666p-1};
    for (size_t i = 0; i < 10; i++)
        CU_ASSERT(coco_threshold(i) == WANTED[i]);
}

static void recall_points_are_products_not_literals(void) {
    CU_ASSERT(coco_recall(0) == 0);
    CU_ASSERT(coco_recall(100) == 1);
    CU_ASSERT(coco_recall(25) == 0.25);
    CU_ASSERT(coco_recall(35) != 0.35);
    CU_ASSERT(coco_recall(95) != 0.95);
}

static void both_ends_of_an_area_range_lie_inside(void) {
    CU_ASSERT_FALSE(coco_area_outside(1, 1024));
    CU_ASSERT_FALSE(coco_area_outside(2, 1024));
    CU_ASSERT(coco_area_outside(1, 1024.0000001));
    CU_ASSERT(coco_area_outside(2, 1023.9999999));
    CU_ASSERT_FALSE(coco_area_outside(3, 9216));
    CU_ASSERT_FALSE(coco_area_outside(0, 0));
    CU_ASSERT(coco_area_outside(0, -1));
    CU_ASSERT(coco_area_outside(0, 1.1e10));
    CU_ASSERT_STRING_EQUAL(coco_area_name(2), "medium");
}

UNIT_SUITE("eval.coco_rules", UNIT(thresholds_are_numpys_doubles),
           UNIT(recall_points_are_products_not_literals),
           UNIT(both_ends_of_an_area_range_lie_inside))
