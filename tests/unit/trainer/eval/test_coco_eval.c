#include "trainer/eval/coco_eval.h"

#include "tests/support/unit.h"
#include "trainer/eval/coco_stats.h"

#include <string.h>

enum { OBJECTS = 4000, IMAGES = 300, CATEGORIES = 5 };

static struct coco_object truth[OBJECTS], found[OBJECTS];

static uint32_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void make_objects(void) {
    uint64_t state = 7;
    for (int i = 0; i < OBJECTS; i++) {
        double side = 8 + next(&state) % 150;
        truth[i] =
            (struct coco_object){.image = next(&state) % IMAGES,
                                 .category = next(&state) % (CATEGORIES - 1),
                                 .crowd = next(&state) % 50 == 0,
                                 .area = side * side,
                                 .box = {next(&state) % 400, next(&state) % 400, side, side}};
        found[i] = truth[i];
        found[i].crowd = false;
        found[i].score = (next(&state) % 100) / 100.0;
        found[i].box[0] += next(&state) % 8;
    }
}

static struct coco_input input_of(int threads) {
    return (struct coco_input){.truth = {.list = truth, .count = OBJECTS},
                               .found = {.list = found, .count = OBJECTS},
                               .image_count = IMAGES,
                               .category_count = CATEGORIES,
                               .threads = threads};
}

static void the_number_of_threads_changes_no_bit(void) {
    make_objects();
    cleanup_coco_curves struct coco_curves one = {0};
    struct error err = {0};
    struct coco_input input = input_of(1);
    size_t recalls = CATEGORIES * COCO_THRESHOLDS * COCO_AREAS * COCO_LIMITS;
    CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &one, &err), 0);
    for (int threads = 2; threads <= 7; threads++) {
        cleanup_coco_curves struct coco_curves many = {0};
        input = input_of(threads);
        CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &many, &err), 0);
        CU_ASSERT_EQUAL(memcmp(one.recall, many.recall, recalls * sizeof(double)), 0);
        CU_ASSERT_EQUAL(
            memcmp(one.precision, many.precision, recalls * COCO_RECALLS * sizeof(double)), 0);
        CU_ASSERT_EQUAL(memcmp(one.score, many.score, recalls * COCO_RECALLS * sizeof(double)), 0);
    }
}

static void a_category_without_objects_stays_at_minus_one(void) {
    make_objects();
    cleanup_coco_curves struct coco_curves curves = {0};
    struct error err = {0};
    struct coco_input input = input_of(2);
    double stats[COCO_STATS];
    CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &curves, &err), 0);
    CU_ASSERT_EQUAL(coco_stats_category(&curves, CATEGORIES - 1, stats, &err), 0);
    for (int i = 0; i < COCO_STATS; i++)
        CU_ASSERT(stats[i] == -1);
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    CU_ASSERT(stats[0] > 0.5 && stats[0] < 1);
}

static void nothing_to_score_is_no_error(void) {
    cleanup_coco_curves struct coco_curves curves = {0};
    struct coco_input input = {.threads = 2};
    struct error err = {0};
    double stats[COCO_STATS];
    CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &curves, &err), 0);
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    CU_ASSERT(stats[0] == -1);
}

/* The number in the error is that of the list, which is the same in every run. */
static int fail_often(const void *user, size_t number, struct rle_scratch *scratch, struct rle *ret,
                      struct error *err) {
    (void)scratch;
    (void)ret;
    const struct coco_object *list = user;
    if (list[number].image < 50)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "image %u of category %u", list[number].image,
                     list[number].category);
}

static void of_several_errors_the_first_pairs_is_reported(void) {
    make_objects();
    for (int threads = 1; threads <= 4; threads++) {
        cleanup_coco_curves struct coco_curves curves = {0};
        struct coco_input input = input_of(threads);
        struct error err = {0};
        input.truth.count = 0;
        input.masks = true;
        input.found.mask = fail_often;
        input.found.user = found;
        CU_ASSERT_EQUAL(coco_eval(&input, &curves, &err), -1);
        ASSERT_CONTAINS(err.text, "image 5");
        ASSERT_CONTAINS(err.text, "category 0");
    }
}

UNIT_SUITE("eval.coco_eval", UNIT(the_number_of_threads_changes_no_bit),
           UNIT(a_category_without_objects_stays_at_minus_one), UNIT(nothing_to_score_is_no_error),
           UNIT(of_several_errors_the_first_pairs_is_reported))
