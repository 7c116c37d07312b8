#include "trainer/eval/coco_match.h"

#include "tests/support/unit.h"

#include <string.h>

/* Everything of one image and category, matched. */
static void match(const struct coco_object *truth, size_t truth_count,
                  const struct coco_object *found, size_t found_count, struct coco_hit *hits) {
    struct coco_input input = {.truth = {.list = truth, .count = truth_count},
                               .found = {.list = found, .count = found_count},
                               .image_count = 1,
                               .category_count = 1};
    struct coco_pairs pairs = {0};
    struct coco_matcher matcher = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_pairs_make(&pairs, &input, &err), 0);
    CU_ASSERT_EQUAL_FATAL(pairs.count, 1);
    CU_ASSERT_EQUAL(coco_match(&matcher, &input, &pairs, &pairs.list[0], hits, &err), 0);
    coco_matcher_done(&matcher);
    coco_pairs_done(&pairs);
}

static bool bit(uint64_t bits, size_t area, size_t threshold) {
    return (bits >> coco_hit_bit(area, threshold)) & 1;
}

/* Overlap with a 100 x 100 box at the origin is WIDTH / 100. */
static struct coco_object box(double width, double score) {
    return (struct coco_object){.score = score, .area = width * 100, .box = {0, 0, width, 100}};
}

static void the_best_score_takes_the_object(void) {
    struct coco_object truth[] = {box(100, 0)}, found[] = {box(100, 0.5), box(80, 0.9)};
    struct coco_hit hits[2];
    match(truth, 1, found, 2, hits);
    CU_ASSERT(hits[0].score == 0.9 && hits[1].score == 0.5);
    CU_ASSERT_EQUAL(hits[0].rank, 0);
    CU_ASSERT_EQUAL(hits[1].rank, 1);
    CU_ASSERT(bit(hits[0].matched, 0, 0));
    CU_ASSERT_FALSE(bit(hits[1].matched, 0, 0));
    /* Above its overlap of 0.8 the other one may have it. */
    CU_ASSERT_FALSE(bit(hits[0].matched, 0, 7));
    CU_ASSERT(bit(hits[1].matched, 0, 7));
}

static void of_equal_overlaps_the_later_object_is_taken(void) {
    struct coco_object truth[] = {box(100, 0), box(100, 0)}, found[] = {box(100, 0.9)};
    truth[1].id_zero = true; /* its match leaves no trace, which tells the two apart */
    struct coco_hit hits[1];
    match(truth, 2, found, 1, hits);
    CU_ASSERT_EQUAL(hits[0].matched, 0);
}

static void a_crowd_can_be_hit_again_and_again_and_does_not_count(void) {
    struct coco_object truth[] = {box(100, 0)}, found[] = {box(20, 0.9), box(30, 0.8)};
    truth[0].crowd = true;
    struct coco_hit hits[2];
    match(truth, 1, found, 2, hits);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(bit(hits[i].matched, 0, 9));
        CU_ASSERT(bit(hits[i].ignored, 0, 9));
    }
}

static void an_object_that_counts_goes_before_a_crowd(void) {
    struct coco_object truth[] = {box(100, 0), box(70, 0)}, found[] = {box(100, 0.9)};
    truth[0].crowd = true;
    struct coco_hit hits[1];
    match(truth, 2, found, 1, hits);
    CU_ASSERT(bit(hits[0].matched, 0, 4));
    CU_ASSERT_FALSE(bit(hits[0].ignored, 0, 4));
    CU_ASSERT(bit(hits[0].ignored, 0, 5));
}

static void what_lies_outside_the_area_range_does_not_count(void) {
    struct coco_object truth[] = {box(100, 0)}, found[] = {box(100, 0.9), box(10, 0.5)};
    struct coco_hit hits[2];
    match(truth, 1, found, 2, hits);
    /* 10,000 pixels are large. Found too, but ignored among the small. */
    CU_ASSERT_FALSE(bit(hits[0].ignored, 3, 0));
    CU_ASSERT(bit(hits[0].matched, 1, 0));
    CU_ASSERT(bit(hits[0].ignored, 1, 0));
    /* 1,000 pixels are small; not found, it is ignored among the large alone. */
    CU_ASSERT_FALSE(bit(hits[1].ignored, 1, 0));
    CU_ASSERT(bit(hits[1].ignored, 3, 0));
}

static int give_mask(const void *user, size_t number, struct rle_scratch *scratch, struct rle *ret,
                     struct error *err) {
    if (number == 120)
        return error_set(err, EXIT_CODE_DATA, "mask 120");
    return rle_from_box(ret, scratch, user, 100, 100, err);
}

static void a_damaged_mask_is_found_even_beyond_the_limit(void) {
    static const double WHOLE[] = {0, 0, 100, 100};
    struct coco_object found[130] = {{0}};
    struct coco_input input = {
        .truth = {.mask = give_mask, .user = WHOLE},
        .found = {.list = found, .count = 130, .mask = give_mask, .user = WHOLE},
        .image_count = 1,
        .category_count = 1,
        .masks = true};
    struct coco_pairs pairs = {0};
    struct coco_matcher matcher = {0};
    struct coco_hit hits[100];
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_pairs_make(&pairs, &input, &err), 0);
    CU_ASSERT_EQUAL(coco_match(&matcher, &input, &pairs, &pairs.list[0], hits, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "mask 120");
    coco_matcher_done(&matcher);
    coco_pairs_done(&pairs);
}

UNIT_SUITE("eval.coco_match", UNIT(the_best_score_takes_the_object),
           UNIT(of_equal_overlaps_the_later_object_is_taken),
           UNIT(a_crowd_can_be_hit_again_and_again_and_does_not_count),
           UNIT(an_object_that_counts_goes_before_a_crowd),
           UNIT(what_lies_outside_the_area_range_does_not_count),
           UNIT(a_damaged_mask_is_found_even_beyond_the_limit))
