#include "tests/support/unit.h"
#include "trainer/math/box.h"

#include <math.h>

static const float ONES[4] = {1, 1, 1, 1}, TENS[4] = {10, 10, 5, 5};

static void overlap_of_boxes(void) {
    static const float unit[4] = {0, 0, 10, 10}, half[4] = {5, 0, 15, 10}, far[4] = {20, 0, 30, 10};
    static const float touching[4] = {10, 0, 20, 10}, point[4] = {5, 5, 5, 5};
    CU_ASSERT_EQUAL(box_iou(unit, unit, 0), 1);
    CU_ASSERT_EQUAL(box_iou(unit, half, 0), 50.0f / 150.0f);
    CU_ASSERT_EQUAL(box_iou(half, unit, 0), 50.0f / 150.0f);
    CU_ASSERT_EQUAL(box_iou(unit, far, 0), 0);
    CU_ASSERT_EQUAL(box_iou(unit, touching, 0), 0);
    CU_ASSERT_EQUAL(box_iou(unit, point, 0), 0);
    CU_ASSERT(isnan(box_iou(point, point, 0)));
    /* In whole pixels, ends included: boxes of 11 x 11, with 6 x 11 and 1 x 11 in common. */
    CU_ASSERT_EQUAL(box_iou(unit, half, 1), 66.0f / 176.0f);
    CU_ASSERT_EQUAL(box_iou(unit, touching, 1), 11.0f / 231.0f);
    CU_ASSERT_EQUAL(box_iou(point, point, 1), 1);
}

/* Worked out by hand: centres 5 and 7, sides 10 and 10 x 12; log 1.2 = .18232155. */
static void coding_by_hand(void) {
    static const float from[4] = {0, 0, 10, 10}, to[4] = {2, 2, 12, 14};
    float code[4], back[4];
    box_encode(from, to, TENS, 0, code);
    CU_ASSERT_EQUAL(code[0], 2);
    CU_ASSERT_EQUAL(code[1], 3);
    CU_ASSERT_EQUAL(code[2], 0);
    CU_ASSERT_EQUAL(code[3], 0x1.d2be48p-1f); /* torchvision has .9116080 */
    box_decode(from, code, TENS, 0, back);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(back[i], to[i], 1e-5);
    /* With whole pixels: sides 11, 11 x 13; centres 5.5, 7.5 and 8.5. */
    box_encode(from, to, ONES, 1, code);
    CU_ASSERT_EQUAL(code[0], 2 / 11.0f);
    CU_ASSERT_EQUAL(code[1], 3 / 11.0f);
    CU_ASSERT_DOUBLE_EQUAL(code[3], log(13.0 / 11), 1e-7);
    box_decode(from, code, ONES, 1, back);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(back[i], to[i], 1e-5);
}

static void growth_is_limited_and_shrinking_is_not(void) {
    static const float from[4] = {100, 100, 116, 116};
    static const float growing[4] = {0, 0, 5, 100}, shrinking[4] = {0, 0, -5, -200};
    float box[4];
    CU_ASSERT_EQUAL(BOX_GROWTH_MAX, (float)0x1.08a691a12e2a9p+2);
    box_decode(from, growing, ONES, 0, box);
    for (int axis = 0; axis < 2; axis++) /* 16 becomes 1000 */
        CU_ASSERT_DOUBLE_EQUAL(box[axis + 2] - box[axis], 1000, 1e-3);
    box_decode(from, shrinking, ONES, 0, box);
    CU_ASSERT_DOUBLE_EQUAL(box[2] - box[0], 16 * exp(-5), 1e-5);
    CU_ASSERT_EQUAL(box[3] - box[1], 0);
}

static void clipping_and_small_boxes(void) {
    float box[4] = {-3, -4, 700, 500}, bad[4] = {NAN, 1, 2, 3};
    box_clip(box, 480, 640, 0);
    CU_ASSERT(box[0] == 0 && box[1] == 0 && box[2] == 640 && box[3] == 480);
    box_clip(box, 480, 640, 1);
    CU_ASSERT(box[2] == 639 && box[3] == 479);
    box_clip(bad, 480, 640, 0);
    CU_ASSERT(isnan(bad[0]));
    static const float thin[4] = {0, 0, 10, 0.001f}, flat[4] = {0, 0, 10, 0};
    CU_ASSERT(box_is_large(box, 0, 1e-3f, 0));
    CU_ASSERT(box_is_large(thin, 0, 1e-3f, 0));
    CU_ASSERT(!box_is_large(thin, 0, 1e-3f, 1));
    CU_ASSERT(!box_is_large(flat, 0, 1e-3f, 0));
    CU_ASSERT(!box_is_large(flat, 0, 0, 1));
    CU_ASSERT(box_is_large(flat, 1, 0, 1));
    CU_ASSERT(!box_is_large(bad, 0, 1e-3f, 0));
}

UNIT_SUITE("kernels.box", UNIT(overlap_of_boxes), UNIT(coding_by_hand),
           UNIT(growth_is_limited_and_shrinking_is_not), UNIT(clipping_and_small_boxes))
