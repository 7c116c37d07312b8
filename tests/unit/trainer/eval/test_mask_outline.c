/* The outlines that a detector learns from (math/mask_target.h), compared bit for bit with COCO's
 * masks of whole pictures. */
#include "tests/support/unit.h"
#include "trainer/eval/rle_polygon.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/random.h"

enum { POINTS_MAX = 12, SIDE_MAX = 40 };

static void decode(const double *points, int count, int side, uint8_t *pixels) {
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct rle_pixels to = {.bytes = pixels,
                            .height = (uint32_t)side,
                            .width = (uint32_t)side,
                            .row_step = (size_t)side,
                            .column_step = 1};
    CU_ASSERT_EQUAL_FATAL(rle_from_polygon(&mask, &scratch, points, (size_t)count, (uint32_t)side,
                                           (uint32_t)side, NULL),
                          0);
    rle_decode(&mask, &to);
}

/* Checks an outline in a region that is identical to the grid. */
static void check(const float *points, int count, int side) {
    const int32_t part[] = {0, count};
    const float box[4] = {0, 0, (float)side, (float)side};
    double wide[2 * POINTS_MAX];
    uint8_t pixels[SIDE_MAX * SIDE_MAX];
    struct mask_outline o = {.points = points, .part = part, .count = 1, .bins = side};
    mask_outline_place(&o, box, 0.1F);
    for (int i = 0; i < 2 * count; i++)
        wide[i] = (double)points[i];
    decode(wide, count, side, pixels);
    bool same = true;
    for (int i = 0; i < side * side; i++)
        same = same && mask_outline_covers(&o, i / side, i % side) == (pixels[i] == 1);
    CU_ASSERT(same);
}

static void an_outline_covers_what_cocos_masks_hold(void) {
    struct random random = random_stream(3, 0, 9);
    for (int k = 0; k < 2000; k++) {
        int count = 3 + (int)random_below(&random, POINTS_MAX - 2);
        int side = 5 + (int)random_below(&random, SIDE_MAX - 4);
        float points[2 * POINTS_MAX];
        for (int i = 0; i < 2 * count; i++)
            points[i] = (float)random_between(&random, -4, side + 4);
        check(points, count, side);
    }
}

/* 8 x 4 pixels at (10, 20), drawn on 4 x 4 cells: a cell is two pixels wide and one high. */
static void an_outline_is_drawn_on_the_regions_grid(void) {
    static const float points[][2] = {{12, 21},    {16, 21}, {16, 24}, {12, 24},
                                      {16.9F, 20}, {18, 20}, {18, 21}, {16.9F, 21}};
    static const int32_t part[] = {0, 4, 4, 4};
    static const float box[4] = {10, 20, 18, 24};
    struct mask_outline o = {.points = points[0], .part = part, .count = 2, .bins = 4};
    mask_outline_place(&o, box, 0.1F);
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++)
            CU_ASSERT_EQUAL(mask_outline_covers(&o, p, q),
                            (p >= 1 && q >= 1 && q <= 2) || (p == 0 && q == 3));
    o.first = 1; /* only the second outline */
    o.count = 1;
    CU_ASSERT(mask_outline_covers(&o, 0, 3) && !mask_outline_covers(&o, 1, 1));
}

static void a_region_has_sides_of_the_least_length(void) {
    static const float box[4] = {5, 5, 5, 5.05F};
    struct mask_outline o = {.bins = 28};
    mask_outline_place(&o, box, 0.1F);
    CU_ASSERT_DOUBLE_EQUAL(o.scale_x, 280, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(o.scale_y, 280, 1e-4);
    mask_outline_place(&o, box, 1);
    CU_ASSERT_EQUAL(o.scale_x, 28);
}

UNIT_SUITE("eval.mask_outline", UNIT(an_outline_covers_what_cocos_masks_hold),
           UNIT(an_outline_is_drawn_on_the_regions_grid),
           UNIT(a_region_has_sides_of_the_least_length))
