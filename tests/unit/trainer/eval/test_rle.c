#include "trainer/eval/rle.h"

#include "tests/support/unit.h"
#include "trainer/eval/rle_polygon.h"
#include "trainer/eval/rle_text.h"

#include <string.h>

/* The golden triangle pair: (2,2)(7,2)(7,7)(2,7) and (5,1)(9,9)(1,9) on 10 x 10. */
static void read_mask(struct rle *mask, const char *text) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(rle_parse(mask, text, strlen(text), 10, 10, &err), 0);
}

static void check_text(const struct rle *mask, const char *text) {
    struct error err = {0};
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL(rle_format(mask, &out, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), text);
}

static const char *const SQUARE = "f0550000000l0";
static const char *const TRIANGLE = "b0172N2N2002N2N2N2";

static void union_and_intersection_are_the_reference_ones(void) {
    cleanup_rle struct rle a = {0}, b = {0}, both = {0};
    struct error err = {0};
    read_mask(&a, SQUARE);
    read_mask(&b, TRIANGLE);
    CU_ASSERT_EQUAL(rle_merge(&both, &a, &b, RLE_UNION, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&both), 40);
    check_text(&both, "b0136000000004L2N2");
    CU_ASSERT_EQUAL(rle_merge(&both, &a, &b, RLE_INTERSECTION, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&both), 17);
    check_text(&both, "j0172N2002Nj0");
}

static void overlap_is_the_reference_one_to_the_last_bit(void) {
    cleanup_rle struct rle a = {0}, b = {0};
    read_mask(&a, SQUARE);
    read_mask(&b, TRIANGLE);
    CU_ASSERT(rle_iou(&a, &b, false) == 0.42499999999999999);
    CU_ASSERT(rle_iou(&a, &b, true) == 0.68000000000000005);
    const double one[] = {2, 2, 5, 5}, other[] = {4, 4, 6, 2};
    CU_ASSERT(box_iou(one, other, false) == 0.19354838709677419);
    CU_ASSERT(box_iou(one, other, true) == 0.24);
    const double beside[] = {7, 2, 5, 5};
    CU_ASSERT(box_iou(one, beside, false) == 0);
}

static void masks_of_other_sizes_never_match(void) {
    cleanup_rle struct rle a = {0}, b = {0}, both = {0};
    struct error err = {0};
    read_mask(&a, SQUARE);
    CU_ASSERT_EQUAL(rle_parse(&b, "4", 1, 2, 2, &err), 0);
    CU_ASSERT(rle_iou(&a, &b, false) == -1);
    CU_ASSERT_EQUAL(rle_merge(&both, &a, &a, RLE_UNION, &err), 0); /* which is written over */
    CU_ASSERT_EQUAL(rle_merge(&both, &a, &b, RLE_UNION, &err), 0);
    CU_ASSERT_EQUAL(both.count, 0);
    CU_ASSERT(both.height == 0 && both.width == 0);
}

static void encoding_and_decoding_agree(void) {
    uint8_t rows[10][10], again[10][10];
    struct rle_pixels out = {&rows[0][0], 10, 10, 10, 1}, back = {&again[0][0], 10, 10, 10, 1};
    cleanup_rle struct rle mask = {0}, encoded = {0};
    struct error err = {0};
    read_mask(&mask, TRIANGLE);
    rle_decode(&mask, &out);
    uint32_t ones = 0;
    for (int i = 0; i < 100; i++)
        ones += (&rows[0][0])[i];
    CU_ASSERT_EQUAL(ones, 32);
    CU_ASSERT_EQUAL(rows[8][1], 1);
    CU_ASSERT_EQUAL(rows[1][8], 0);
    CU_ASSERT_EQUAL(rle_encode(&encoded, &out, &err), 0);
    check_text(&encoded, TRIANGLE);
    rle_decode(&encoded, &back);
    CU_ASSERT_EQUAL(memcmp(rows, again, sizeof(rows)), 0);
}

static void fill(struct rle *mask, const uint32_t *runs, size_t count) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(rle_begin(mask, 3, 4, &err), 0);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(rle_add(mask, runs[i], &err), 0);
}

static void the_box_of_odd_masks_is_the_reference_one(void) {
    cleanup_rle struct rle mask = {0};
    double box[4];
    fill(&mask, (const uint32_t[]){12}, 1);
    rle_box(&mask, box);
    CU_ASSERT_EQUAL(memcmp(box, (const double[]){0, 0, 0, 0}, sizeof(box)), 0);
    /* Two columns in one run: all rows. */
    fill(&mask, (const uint32_t[]){2, 2, 8}, 3);
    rle_box(&mask, box);
    CU_ASSERT_EQUAL(memcmp(box, (const double[]){0, 0, 2, 3}, sizeof(box)), 0);
    /* An empty run of ones in the middle does not count. */
    fill(&mask, (const uint32_t[]){1, 1, 3, 0, 7}, 5);
    rle_box(&mask, box);
    CU_ASSERT_EQUAL(memcmp(box, (const double[]){0, 1, 1, 1}, sizeof(box)), 0);
}

static void runs_that_do_not_add_up_end_the_walk(void) {
    cleanup_rle struct rle whole = {0}, part = {0}, both = {0};
    struct error err = {0};
    fill(&whole, (const uint32_t[]){0, 12}, 2);
    fill(&part, (const uint32_t[]){0, 4}, 2);
    CU_ASSERT(rle_iou(&whole, &part, false) == 1);
    CU_ASSERT_EQUAL(rle_merge(&both, &part, &whole, RLE_UNION, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&both), 4);
}

/* If both are in an empty run at once the reference's walk ends, whatever follows. */
static void two_empty_runs_at_once_end_the_walk(void) {
    cleanup_rle struct rle a = {0}, b = {0}, both = {0};
    struct error err = {0};
    fill(&a, (const uint32_t[]){1, 2, 0, 9}, 4);
    fill(&b, (const uint32_t[]){1, 2, 0, 4, 5}, 5);
    CU_ASSERT(rle_iou(&a, &b, false) == 1);
    CU_ASSERT_EQUAL(rle_merge(&both, &a, &b, RLE_UNION, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&both), 2);
    /* One alone does not. */
    fill(&b, (const uint32_t[]){1, 6, 5}, 3);
    CU_ASSERT(rle_iou(&a, &b, false) == 6.0 / 11);
}

UNIT_SUITE("eval.rle", UNIT(two_empty_runs_at_once_end_the_walk),
           UNIT(union_and_intersection_are_the_reference_ones),
           UNIT(overlap_is_the_reference_one_to_the_last_bit),
           UNIT(masks_of_other_sizes_never_match), UNIT(encoding_and_decoding_agree),
           UNIT(the_box_of_odd_masks_is_the_reference_one),
           UNIT(runs_that_do_not_add_up_end_the_walk))
