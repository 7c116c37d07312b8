#include "trainer/eval/coco_curve.h"

#include "tests/support/unit.h"

#include <float.h>
#include <stdlib.h>

/* A curve over four detections of which the second and fourth hit, three objects in all. */
static void curve_of(const struct coco_hit *hits, size_t count, size_t truth,
                     struct coco_curves *ret) {
    struct coco_scored sorted[8];
    struct coco_curve_scratch room = {0};
    struct error err = {0};
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct coco_scored){hits[i].score, (uint32_t)i};
    size_t recalls = COCO_THRESHOLDS * COCO_AREAS * COCO_LIMITS;
    *ret = (struct coco_curves){.category_count = 1};
    ret->precision = calloc(recalls * COCO_RECALLS, sizeof(double));
    ret->score = calloc(recalls * COCO_RECALLS, sizeof(double));
    ret->recall = calloc(recalls, sizeof(double));
    struct coco_curve_input input = {
        .hits = hits, .sorted = sorted, .count = count, .truth_count = truth};
    CU_ASSERT_EQUAL(coco_curve(&room, &input, ret, &err), 0);
    coco_curve_scratch_done(&room);
}

static double precision_at(const struct coco_curves *c, size_t recall, size_t limit) {
    return c->precision[coco_precision_index(c, 0, recall, 0, 0, limit)];
}

static double score_at(const struct coco_curves *c, size_t recall, size_t limit) {
    return c->score[coco_precision_index(c, 0, recall, 0, 0, limit)];
}

static void precision_never_rises_with_recall(void) {
    const struct coco_hit hits[] = {{.score = 0.9},
                                    {.score = 0.8, .matched = 1, .rank = 1},
                                    {.score = 0.7, .rank = 2},
                                    {.score = 0.6, .matched = 1, .rank = 3}};
    cleanup_coco_curves struct coco_curves curves = {0};
    curve_of(hits, 4, 3, &curves);
    double half = 2 / (2.0 + 2.0 + DBL_EPSILON);
    CU_ASSERT(precision_at(&curves, 0, 2) == half);
    CU_ASSERT(precision_at(&curves, 33, 2) == half);
    CU_ASSERT(precision_at(&curves, 66, 2) == half);
    CU_ASSERT(precision_at(&curves, 67, 2) == 0);
    CU_ASSERT(score_at(&curves, 0, 2) == 0.9);
    CU_ASSERT(score_at(&curves, 33, 2) == 0.8);
    CU_ASSERT(score_at(&curves, 34, 2) == 0.6);
    CU_ASSERT(curves.recall[coco_recall_index(&curves, 0, 0, 0, 2)] == 2.0 / 3.0);
}

static void a_limit_keeps_the_first_of_each_image(void) {
    const struct coco_hit hits[] = {{.score = 0.9, .matched = 1}, {.score = 0.8, .rank = 1}};
    cleanup_coco_curves struct coco_curves curves = {0};
    curve_of(hits, 2, 1, &curves);
    CU_ASSERT(precision_at(&curves, 100, 0) == 1 / (1.0 + DBL_EPSILON));
    CU_ASSERT(precision_at(&curves, 100, 1) == 1 / (1.0 + DBL_EPSILON));
    const struct coco_hit late[] = {{.score = 0.9}, {.score = 0.8, .matched = 1, .rank = 1}};
    coco_curves_done(&curves);
    curve_of(late, 2, 1, &curves);
    CU_ASSERT(precision_at(&curves, 0, 0) == 0);
    CU_ASSERT(curves.recall[coco_recall_index(&curves, 0, 0, 0, 0)] == 0);
    CU_ASSERT(precision_at(&curves, 100, 1) == 1 / (1.0 + 1.0 + DBL_EPSILON));
}

static void ignored_detections_count_neither_way(void) {
    const struct coco_hit hits[] = {{.score = 0.9, .ignored = 1},
                                    {.score = 0.8, .matched = 1, .ignored = 1, .rank = 1},
                                    {.score = 0.7, .matched = 1, .rank = 2}};
    cleanup_coco_curves struct coco_curves curves = {0};
    curve_of(hits, 3, 1, &curves);
    CU_ASSERT(precision_at(&curves, 100, 2) == 1 / (1.0 + DBL_EPSILON));
    CU_ASSERT(score_at(&curves, 0, 2) == 0.9);
    CU_ASSERT(score_at(&curves, 1, 2) == 0.7);
}

static void no_detection_gives_zero(void) {
    cleanup_coco_curves struct coco_curves curves = {0};
    curve_of(NULL, 0, 5, &curves);
    CU_ASSERT(precision_at(&curves, 0, 2) == 0);
    CU_ASSERT(score_at(&curves, 0, 2) == 0);
    CU_ASSERT(curves.recall[coco_recall_index(&curves, 0, 0, 0, 2)] == 0);
}

UNIT_SUITE("eval.coco_curve", UNIT(precision_never_rises_with_recall),
           UNIT(a_limit_keeps_the_first_of_each_image), UNIT(ignored_detections_count_neither_way),
           UNIT(no_detection_gives_zero))
