#include "trainer/eval/coco_stats.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>

static void sums_are_pairwise_as_numpys(void) {
    /* numpy.sum of 0.1 repeated, and of 1/(i+1), as numpy 2.4 gives them. */
    static const struct {
        size_t count;
        double tenths, harmonic;
    } WANTED[] = {
        {1, 0x1.999999999999ap-4, 0x1.0000000000000p+0},
        {7, 0x1.6666666666666p-1, 0x1.4be2be2be2be2p+1},
        {8, 0x1.999999999999ap-1, 0x1.5be2be2be2be2p+1},
        {9, 0x1.ccccccccccccdp-1, 0x1.6a1ba1ba1ba1bp+1},
        {100, 0x1.3ffffffffffffp+3, 0x1.4bfdfe4591243p+2},
        {128, 0x1.999999999999bp+3, 0x1.5bb8ae9541ca7p+2},
        {129, 0x1.9ccccccccccccp+3, 0x1.5c37b09149ba9p+2},
        {136, 0x1.b333333333332p+3, 0x1.5f9633591b269p+2},
        {1000, 0x1.9000000000001p+6, 0x1.df11f45f4e61ap+2},
        {1999, 0x1.8fccccccccccep+7, 0x1.05b11873003f2p+3},
    };
    double numbers[2000];
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
        for (size_t n = 0; n < WANTED[i].count; n++)
            numbers[n] = 0.1;
        CU_ASSERT(coco_sum(numbers, WANTED[i].count) == WANTED[i].tenths);
        for (size_t n = 0; n < WANTED[i].count; n++)
            numbers[n] = 1.0 / (double)(n + 1);
        CU_ASSERT(coco_sum(numbers, WANTED[i].count) == WANTED[i].harmonic);
    }
}

static struct coco_curves make_curves(size_t categories, double value) {
    size_t recalls = categories * COCO_THRESHOLDS * COCO_AREAS * COCO_LIMITS;
    struct coco_curves curves = {.category_count = categories};
    curves.precision = malloc(recalls * COCO_RECALLS * sizeof(double));
    curves.score = malloc(sizeof(double));
    curves.recall = malloc(recalls * sizeof(double));
    CU_ASSERT_FATAL(curves.precision != NULL && curves.recall != NULL);
    for (size_t i = 0; i < recalls * COCO_RECALLS; i++)
        curves.precision[i] = value;
    for (size_t i = 0; i < recalls; i++)
        curves.recall[i] = value;
    return curves;
}

static void nothing_that_counts_gives_minus_one(void) {
    cleanup_coco_curves struct coco_curves curves = make_curves(2, -1);
    double stats[COCO_STATS];
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    for (int i = 0; i < COCO_STATS; i++)
        CU_ASSERT(stats[i] == -1);
}

static void each_number_takes_its_own_slice(void) {
    cleanup_coco_curves struct coco_curves curves = make_curves(2, -1);
    double stats[COCO_STATS];
    struct error err = {0};
    curves.precision[coco_precision_index(&curves, 5, 50, 1, 0, 2)] = 0.5;
    curves.precision[coco_precision_index(&curves, 0, 50, 1, 3, 2)] = 0.25;
    curves.recall[coco_recall_index(&curves, 7, 0, 0, 1)] = 0.75;
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    static const double WANTED[] = {0.5, -1, 0.5, -1, -1, 0.25, -1, 0.75, -1, -1, -1, -1};
    for (int i = 0; i < COCO_STATS; i++)
        CU_ASSERT(stats[i] == WANTED[i]);
    CU_ASSERT_EQUAL(coco_stats_category(&curves, 0, stats, &err), 0);
    CU_ASSERT(stats[0] == -1 && stats[7] == 0.75);
}

UNIT_SUITE("eval.coco_stats", UNIT(sums_are_pairwise_as_numpys),
           UNIT(nothing_that_counts_gives_minus_one), UNIT(each_number_takes_its_own_slice))
