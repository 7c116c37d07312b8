#include "trainer/eval/rle_polygon.h"

#include "common/str.h"
#include "tests/support/unit.h"
#include "trainer/eval/rle_text.h"

#include <math.h>
#include <string.h>

/* Polygons are compared with masks of COCO's own library: a few with all that it says of them, and
 * ten thousand random ones by a hash. The rest is about several parts in one object, and about
 * input that is refused. */

/* Picture, polygon, and the mask that the library makes: area, box and its string. */
struct golden {
    uint32_t height, width;
    size_t points;
    double at[16];
    uint32_t area;
    double box[4];
    const char *text;
};

/* Corners on whole and half pixels, a triangle, polygons that pass a border or fill the picture.
 * One is smaller than a pixel, and the last has concave and slanted edges. */
static const struct golden GOLDEN[] = {
    {10, 10, 4, {2, 2, 7, 2, 7, 7, 2, 7}, 25, {2, 2, 5, 5}, "f0550000000l0"},
    {10, 10, 4, {2.5, 2.5, 7.5, 2.5, 7.5, 7.5, 2.5, 7.5}, 25, {3, 3, 5, 5}, "Q1550000000a0"},
    {10, 10, 3, {5, 1, 9, 9, 1, 9}, 32, {1, 2, 8, 7}, "b0172N2N2002N2N2N2"},
    {10, 10, 4, {-3, -3, 4, -3, 4, 4, -3, 4}, 16, {0, 0, 4, 4}, "04600000l1"},
    {10, 10, 4, {0, 0, 10, 0, 10, 10, 0, 10}, 100, {0, 0, 10, 10}, "0T3"},
    {10, 10, 4, {8, 8, 14, 8, 14, 14, 8, 14}, 4, {8, 8, 2, 2}, "h2280"},
    {10, 10, 4, {4.2, 4.2, 4.3, 4.2, 4.3, 4.3, 4.2, 4.3}, 0, {0, 0, 0, 0}, "T3"},
    {16,
     16,
     5,
     {3.3, 1.7, 12.9, 4.2, 10.1, 15.6, 6.6, 9.9, 1.2, 13.4},
     90,
     {1, 2, 12, 12},
     "l0196L31O101N11O2N10O0L4L`1"},
};

/* Compares by the string, as it has every run. */
static void check_text(const struct rle *mask, const char *text) {
    struct error err = {0};
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL(rle_format(mask, &out, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), text);
}

/* One mask and one scratch memory serve for all, so what one polygon leaves must not show in the
 * next. */
static void polygons_give_the_reference_masks(void) {
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    for (size_t i = 0; i < sizeof(GOLDEN) / sizeof(GOLDEN[0]); i++) {
        const struct golden *g = &GOLDEN[i];
        CU_ASSERT_EQUAL_FATAL(
            rle_from_polygon(&mask, &scratch, g->at, g->points, g->height, g->width, &err), 0);
        double box[4];
        rle_box(&mask, box);
        CU_ASSERT_EQUAL(rle_area(&mask), g->area);
        CU_ASSERT_EQUAL(memcmp(box, g->box, sizeof(box)), 0);
        check_text(&mask, g->text);
    }
}

/* 4 x 5 pixels at (2, 3). */
static void a_box_is_drawn_as_its_corners(void) {
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    const double box[] = {2, 3, 4, 5};
    CU_ASSERT_EQUAL(rle_from_box(&mask, &scratch, box, 10, 10, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 20);
    check_text(&mask, "g05500000U1");
}

/* The hash and how it is computed: xorshift64 with shifts 13, 7, 17, and FNV-1a over each mask's
 * string and a line end, started as below (not with FNV's usual number). A script with the library
 * can repeat it. */
#define RECIPE_HASH_START UINT64_C(1469598103934665603)

/* A number in [0, 1), of the 53 bits that a double holds. */
static double next_unit(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* 3 to 11 corners, up to four pixels outside of pictures of 5 to 99 pixels a side. The sum of the
 * areas tells a fault of the masks from one of the hash. */
static void ten_thousand_random_polygons_give_the_reference_hash(void) {
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_buf struct buf text = {.max = 65536};
    struct error err = {0};
    uint64_t state = UINT64_C(88172645463325252), hash = RECIPE_HASH_START, area = 0;
    for (int polygon = 0; polygon < 10000; polygon++) {
        uint32_t height = 5 + (uint32_t)(95 * next_unit(&state));
        uint32_t width = 5 + (uint32_t)(95 * next_unit(&state));
        size_t points = 3 + (size_t)(9 * next_unit(&state));
        double at[24];
        for (size_t i = 0; i < points; i++) {
            at[2 * i] = next_unit(&state) * (width + 8) - 4;
            at[2 * i + 1] = next_unit(&state) * (height + 8) - 4;
        }
        CU_ASSERT_EQUAL_FATAL(rle_from_polygon(&mask, &scratch, at, points, height, width, &err),
                              0);
        buf_consume(&text, text.size);
        CU_ASSERT_EQUAL_FATAL(rle_format(&mask, &text, &err), 0);
        hash = str_hash(hash, text.data, text.size);
        hash = str_hash(hash, "\n", 1);
        area += rle_area(&mask);
    }
    CU_ASSERT_EQUAL(hash, UINT64_C(0xfc928dd341a0462d));
    CU_ASSERT_EQUAL(area, 5105442);
}

/* The square and the triangle of the table, which overlap: 25 and 32 pixels make 40. */
static void parts_are_united(void) {
    const double numbers[] = {2, 2, 7, 2, 7, 7, 2, 7, 5, 1, 9, 9, 1, 9};
    const uint32_t sizes[] = {8, 6};
    struct rle_parts parts = {
        .numbers = numbers, .sizes = sizes, .count = 2, .height = 10, .width = 10};
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_from_parts(&mask, &scratch, &parts, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 40);
    check_text(&mask, "b0136000000004L2N2");
}

/* The same box twice is the box. */
static void four_numbers_first_make_all_parts_boxes(void) {
    const double numbers[] = {2, 3, 4, 5, 2, 3, 4, 5};
    const uint32_t sizes[] = {4, 4};
    struct rle_parts parts = {
        .numbers = numbers, .sizes = sizes, .count = 2, .height = 10, .width = 10};
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_from_parts(&mask, &scratch, &parts, &err), 0);
    check_text(&mask, "g05500000U1");
}

/* Fails unless the parts are refused as data, with WORDS in the message. */
static void check_refused(size_t count, const uint32_t *sizes, const double *numbers,
                          const char *words) {
    struct rle_parts parts = {
        .numbers = numbers, .sizes = sizes, .count = count, .height = 10, .width = 10};
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_from_parts(&mask, &scratch, &parts, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
}

/* No part, an odd number, too few, a polygon among boxes, a coordinate beyond the limit, and no
 * number at all. */
static void malformed_parts_are_refused(void) {
    const double numbers[] = {2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4};
    const double wide[] = {2, 3, 4, 5, 6, 1e6 + 1};
    const double no_number[] = {2, 3, 4, 5, 6, NAN};
    check_refused(0, NULL, numbers, "without a polygon");
    check_refused(1, (const uint32_t[]){5}, numbers, "5 numbers");
    check_refused(1, (const uint32_t[]){2}, numbers, "2 numbers");
    check_refused(2, (const uint32_t[]){4, 6}, numbers,
                  "6 numbers; expected 4, as the first one has");
    check_refused(1, (const uint32_t[]){6}, wide, "expected -1000000 to 1000000 pixels");
    check_refused(1, (const uint32_t[]){6}, no_number, "expected -1000000 to 1000000 pixels");
}

static void many_crossings_of_one_column_are_sorted_too(void) {
    /* A comb with teeth that go back and forth over one column: more crossings than are sorted by
     * insertion. The runs must still add up to the picture. */
    enum { TEETH = 200 };
    double at[4 * TEETH];
    for (int i = 0; i < TEETH; i++) {
        at[4 * i] = 2;
        at[4 * i + 1] = 4 * i;
        at[4 * i + 2] = 8;
        at[4 * i + 3] = 4 * i + 2;
    }
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_from_polygon(&mask, &scratch, at, (size_t)2 * TEETH, 800, 10, &err), 0);
    CU_ASSERT_EQUAL(rle_end(&mask, &err), 0);
    CU_ASSERT(mask.count > TEETH);
}

UNIT_SUITE("eval.rle_polygon", UNIT(polygons_give_the_reference_masks),
           UNIT(a_box_is_drawn_as_its_corners),
           UNIT(ten_thousand_random_polygons_give_the_reference_hash), UNIT(parts_are_united),
           UNIT(four_numbers_first_make_all_parts_boxes), UNIT(malformed_parts_are_refused),
           UNIT(many_crossings_of_one_column_are_sorted_too))
