#include "tests/support/unit.h"
#include "trainer/data/dataset/dataset.h"

#include <string.h>

static void a_synthetic_set_has_what_was_asked(void) {
    cleanup_dataset struct dataset set = {0};
    char name[64];
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&set, 10, 3, NULL), 0);
    CU_ASSERT_EQUAL(set.count, 10);
    CU_ASSERT_EQUAL(set.classes, 3);
    CU_ASSERT_EQUAL(set.labels[4], 1);
    CU_ASSERT_STRING_EQUAL(set.class_names[2], "class2");
    dataset_sample_name(&set, 7, name, sizeof(name));
    CU_ASSERT_STRING_EQUAL(name, "synthetic/7");
}

static void synthetic_pictures_differ_and_share_their_class_color(void) {
    enum { SIDE = 16, SIZE = SIDE * SIDE * 3 };
    cleanup_dataset struct dataset set = {0};
    uint8_t a[SIZE], b[SIZE], again[SIZE];
    double mean[2][3] = {{0}};
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&set, 10, 3, NULL), 0);
    dataset_paint(&set, 1, SIDE, a);
    dataset_paint(&set, 4, SIDE, b); /* of the same class */
    dataset_paint(&set, 1, SIDE, again);
    CU_ASSERT_EQUAL(memcmp(a, again, SIZE), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(a, b, SIZE), 0);
    for (int i = 0; i < SIZE; i++) {
        mean[0][i % 3] += a[i] / (double)(SIDE * SIDE);
        mean[1][i % 3] += b[i] / (double)(SIDE * SIDE);
    }
    for (int c = 0; c < 3; c++)
        CU_ASSERT_DOUBLE_EQUAL(mean[0][c], mean[1][c], 12);
}

static void impossible_counts_are_refused(void) {
    struct dataset set;
    struct error err;
    CU_ASSERT_EQUAL(dataset_open_synthetic(&set, 0, 3, &err), -1);
    CU_ASSERT_EQUAL(dataset_open_synthetic(&set, 10, 0, &err), -1);
    CU_ASSERT_EQUAL(dataset_open_synthetic(&set, 10, DATASET_CLASSES_MAX + 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_PTR_NULL(set.labels);
    dataset_done(&set);
}

static void sets_of_other_sizes_have_other_hashes(void) {
    cleanup_dataset struct dataset a = {0};
    cleanup_dataset struct dataset b = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&a, 10, 3, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&b, 11, 3, NULL), 0);
    CU_ASSERT_NOT_EQUAL(a.hash, b.hash);
    cleanup_dataset struct dataset c = {0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&c, 10, 4, NULL), 0);
    CU_ASSERT_NOT_EQUAL(a.hash, c.hash);
}

static void classes_are_placed_among_others(void) {
    cleanup_dataset struct dataset set = {0};
    char a[] = "a", b[] = "b", c[] = "c";
    char *names[] = {a, b, c};
    static const int32_t map[] = {2, 0};
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&set, 4, 2, NULL), 0);
    uint64_t hash = set.hash;
    CU_ASSERT_EQUAL(dataset_place_classes(&set, names, 3, map, NULL), 0);
    CU_ASSERT_EQUAL(set.classes, 3);
    CU_ASSERT_STRING_EQUAL(set.class_names[2], "c");
    CU_ASSERT(set.labels[0] == 2 && set.labels[1] == 0 && set.labels[2] == 2);
    CU_ASSERT_EQUAL(set.hash, hash);
}

UNIT_SUITE("data.dataset", UNIT(classes_are_placed_among_others),
           UNIT(a_synthetic_set_has_what_was_asked),
           UNIT(synthetic_pictures_differ_and_share_their_class_color),
           UNIT(impossible_counts_are_refused), UNIT(sets_of_other_sizes_have_other_hashes))
