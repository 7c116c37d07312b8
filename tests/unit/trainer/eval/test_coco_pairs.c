#include "trainer/eval/coco_pairs.h"

#include "tests/support/unit.h"

static void objects_come_together_by_category_and_image(void) {
    static const struct coco_object TRUTH[] = {
        {.image = 1, .category = 2}, {.image = 0, .category = 0}, {.image = 1, .category = 2}};
    static const struct coco_object FOUND[] = {
        {.image = 1, .category = 2}, {.image = 1, .category = 0}, {.image = 0, .category = 2}};
    struct coco_input input = {.truth = {.list = TRUTH, .count = 3},
                               .found = {.list = FOUND, .count = 3},
                               .image_count = 2,
                               .category_count = 4};
    struct coco_pairs pairs = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_pairs_make(&pairs, &input, &err), 0);
    static const struct {
        uint32_t category, truth, found;
    } WANTED[] = {{0, 1, 0}, {0, 0, 1}, {2, 0, 1}, {2, 2, 1}};
    CU_ASSERT_EQUAL_FATAL(pairs.count, 4);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(pairs.list[i].category, WANTED[i].category);
        CU_ASSERT_EQUAL(pairs.list[i].truth_count, WANTED[i].truth);
        CU_ASSERT_EQUAL(pairs.list[i].found_count, WANTED[i].found);
    }
    /* Within a pair, objects keep the order of the list. */
    CU_ASSERT_EQUAL(pairs.truth_order[pairs.list[3].truth], 0);
    CU_ASSERT_EQUAL(pairs.truth_order[pairs.list[3].truth + 1], 2);
    static const size_t STARTS[] = {0, 2, 2, 4, 4};
    for (size_t c = 0; c <= 4; c++)
        CU_ASSERT_EQUAL(pairs.category_start[c], STARTS[c]);
    CU_ASSERT_EQUAL(pairs.hit_count, 3);
    coco_pairs_done(&pairs);
}

static void a_pair_keeps_a_hundred_outcomes_at_most(void) {
    struct coco_object found[130] = {{0}};
    struct coco_input input = {
        .found = {.list = found, .count = 130}, .image_count = 1, .category_count = 1};
    struct coco_pairs pairs = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_pairs_make(&pairs, &input, &err), 0);
    CU_ASSERT_EQUAL(pairs.list[0].found_count, 130);
    CU_ASSERT_EQUAL(pairs.hit_count, 100);
    coco_pairs_done(&pairs);
}

static void nothing_at_all_gives_no_pair(void) {
    struct coco_input input = {0};
    struct coco_pairs pairs = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_pairs_make(&pairs, &input, &err), 0);
    CU_ASSERT_EQUAL(pairs.count, 0);
    coco_pairs_done(&pairs);
}

static void numbers_out_of_range_are_refused(void) {
    struct coco_object found = {.image = 1};
    struct coco_input input = {
        .found = {.list = &found, .count = 1}, .image_count = 1, .category_count = 1};
    struct coco_pairs pairs = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_pairs_make(&pairs, &input, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    coco_pairs_done(&pairs);
}

UNIT_SUITE("eval.coco_pairs", UNIT(objects_come_together_by_category_and_image),
           UNIT(a_pair_keeps_a_hundred_outcomes_at_most), UNIT(nothing_at_all_gives_no_pair),
           UNIT(numbers_out_of_range_are_refused))
