#include "tests/support/unit.h"
#include "trainer/math/roi_level.h"

static int level_of(float width, float height) {
    float box[4] = {10, 20, 10 + width, 20 + height};
    return roi_level(box, 4, 1e-6F, false, 0);
}

static void a_region_of_224_is_of_the_third_map(void) {
    CU_ASSERT_EQUAL(level_of(224, 224), 2);
    CU_ASSERT_EQUAL(level_of(112, 448), 2);
    CU_ASSERT_EQUAL(level_of(112, 112), 1);
    CU_ASSERT_EQUAL(level_of(448, 448), 3);
    CU_ASSERT_EQUAL(level_of(2000, 2000), 3);
    CU_ASSERT_EQUAL(level_of(56, 56), 0);
    CU_ASSERT_EQUAL(level_of(1, 1), 0);
}

/* 1e-6 is about two steps of f32 above 4 and four steps below, so a side just below the border
 * still counts. */
static void the_border_lies_a_hair_below(void) {
    static const float sides[] = {112, 224, 448};
    for (int i = 0; i < 3; i++) {
        float side = sides[i], box[4] = {0, 0, side, side};
        CU_ASSERT_EQUAL(roi_level(box, 4, 1e-6F, false, 0), i + 1);
        box[2] = nextafterf(side, 0);
        CU_ASSERT_EQUAL(roi_level(box, 4, 1e-6F, false, 0), i + 1);
        box[2] = side * (1 - 1e-5F);
        CU_ASSERT_EQUAL(roi_level(box, 4, 1e-6F, false, 0), i);
        CU_ASSERT_EQUAL(roi_level(box, 4, 1e-8F, true, 0), i);
        box[2] = side;
        CU_ASSERT_EQUAL(roi_level(box, 4, 1e-8F, true, 0), i + 1);
    }
}

static void what_has_no_area_is_of_the_first_map(void) {
    CU_ASSERT_EQUAL(level_of(0, 500), 0);
    CU_ASSERT_EQUAL(level_of(-5, 500), 0);
    CU_ASSERT_EQUAL(level_of(NAN, 500), 0);
    CU_ASSERT_EQUAL(level_of(INFINITY, 500), 3);
}

/* A box from 0 to 111 is 112 wide if the last pixel counts. */
static void a_last_pixel_counts(void) {
    float box[4] = {0, 0, 111, 111};
    CU_ASSERT_EQUAL(roi_level(box, 4, 1e-6F, false, 0), 0);
    CU_ASSERT_EQUAL(roi_level(box, 4, 1e-6F, false, 1), 1);
}

static void there_may_be_fewer_maps(void) {
    float box[4] = {0, 0, 900, 900};
    CU_ASSERT_EQUAL(roi_level(box, 1, 1e-6F, false, 0), 0);
    CU_ASSERT_EQUAL(roi_level(box, 2, 1e-6F, false, 0), 1);
}

UNIT_SUITE("kernels.roi_level", UNIT(a_region_of_224_is_of_the_third_map),
           UNIT(the_border_lies_a_hair_below), UNIT(what_has_no_area_is_of_the_first_map),
           UNIT(a_last_pixel_counts), UNIT(there_may_be_fewer_maps))
