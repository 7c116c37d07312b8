/* The evaluation against outcomes that pycocotools gave (tests/golden/coco_compare.py stored them):
 * twelve numbers as hex doubles, and hashes of the precision, recall and score arrays. */
#ifndef TESTS_UNIT_TRAINER_DATA_COCO_COCO_GOLDEN_H
#define TESTS_UNIT_TRAINER_DATA_COCO_COCO_GOLDEN_H

#include "common/str.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2 };

struct outcome {
    double stats[COCO_STATS];
    uint64_t precision;
    uint64_t recall;
    uint64_t score;
};

static const char GOLDEN[] = RINGMASTER_TEST_DATA "/../golden/coco";

/* The line of EXPECT that begins with KIND; false when there is none. */
static bool read_outcome(const char *path, const char *kind, struct outcome *ret) {
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char word[64];
    bool found = false;
    while (!found && fscanf(file, "%63s", word) == 1) {
        found = strcmp(word, kind) == 0;
        for (int i = 0; i < COCO_STATS; i++) {
            CU_ASSERT_EQUAL_FATAL(fscanf(file, "%63s", word), 1);
            ret->stats[i] = strtod(word, NULL);
        }
        CU_ASSERT_EQUAL_FATAL(fscanf(file, "%" SCNx64 " %" SCNx64 " %" SCNx64, &ret->precision,
                                     &ret->recall, &ret->score),
                              3);
    }
    fclose(file);
    return found;
}

static void check_curves(const struct coco_curves *curves, const struct outcome *wanted) {
    struct error err = {0};
    double stats[COCO_STATS];
    size_t recalls =
        COCO_THRESHOLDS * curves->category_count * COCO_AREAS * COCO_LIMITS * sizeof(double);
    CU_ASSERT_EQUAL(coco_stats(curves, stats, &err), 0);
    CU_ASSERT_EQUAL(memcmp(stats, wanted->stats, sizeof(stats)), 0);
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, curves->recall, recalls), wanted->recall);
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, curves->precision, recalls * COCO_RECALLS),
                    wanted->precision);
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, curves->score, recalls * COCO_RECALLS), wanted->score);
}

static void check_case(const char *truth, const char *found, const char *expect) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_results struct coco_results results = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, truth, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_results_read(&results, found, &err), 0);
    for (int masks = 0; masks <= 1; masks++) {
        struct outcome wanted;
        if (!read_outcome(expect, masks ? "segm" : "bbox", &wanted))
            continue;
        for (int threads = 1; threads <= THREADS; threads++) {
            cleanup_coco_task struct coco_task task = {0};
            cleanup_coco_curves struct coco_curves curves = {0};
            CU_ASSERT_EQUAL_FATAL(
                coco_task_make(&task, &index, &results, masks, COCO_AREA_OF_BOX, &err), 0);
            task.input.threads = threads;
            CU_ASSERT_EQUAL_FATAL(coco_eval(&task.input, &curves, &err), 0);
            check_curves(&curves, &wanted);
        }
    }
}

#endif
