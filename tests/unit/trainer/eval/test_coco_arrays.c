#include "trainer/eval/coco_arrays.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void check_file(const char *name, const char *shape, size_t numbers) {
    char path[PATH_MAX];
    cleanup_buf struct buf bytes = {.max = 1 << 24};
    struct error err = {0};
    snprintf(path, sizeof(path), "%s/new/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &bytes, &err), 0);
    CU_ASSERT_EQUAL_FATAL(bytes.size, 128 + numbers * sizeof(double));
    CU_ASSERT_EQUAL(memcmp(bytes.data, "\x93NUMPY\x01\x00\x76\x00", 10), 0);
    CU_ASSERT_EQUAL(bytes.data[127], '\n');
    bytes.data[127] = '\0';
    ASSERT_CONTAINS(bytes.data + 10, "'descr': '<f8', 'fortran_order': False");
    ASSERT_CONTAINS(bytes.data + 10, shape);
    double last;
    memcpy(&last, bytes.data + bytes.size - sizeof(last), sizeof(last));
    CU_ASSERT(last == -1);
}

static int write_here(const char *name, size_t categories, double *numbers, struct error *err) {
    char folder[PATH_MAX];
    const struct coco_curves curves = {
        .precision = numbers, .score = numbers, .recall = numbers, .category_count = categories};
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return coco_arrays_write(&curves, folder, "bbox", err);
}

static void a_head_is_what_numpy_writes(void) {
    enum { COUNT = COCO_THRESHOLDS * COCO_RECALLS * COCO_AREAS * COCO_LIMITS };
    static double numbers[COUNT];
    char path[PATH_MAX], head[129];
    struct error err = {0};
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i / 7.0;
    CU_ASSERT_EQUAL_FATAL(write_here("head", 1, numbers, &err), 0);
    snprintf(path, sizeof(path), "%s/head/bbox.scores.npy", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_read(path, &bytes, &err), 0);
    snprintf(head, sizeof(head), "%-117s\n",
             "{'descr': '<f8', 'fortran_order': False, 'shape': (10, 101, 1, 4, 3), }");
    CU_ASSERT_EQUAL_FATAL(bytes.size, 128 + sizeof(numbers));
    CU_ASSERT_EQUAL(memcmp(bytes.data + 10, head, 118), 0);
    CU_ASSERT_EQUAL(memcmp(bytes.data + 128, numbers, sizeof(numbers)), 0);
}

static int check_here(const char *name, struct error *err) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return coco_arrays_check(folder, err);
}

static void nothing_but_arrays_is_written_over(void) {
    static const char *const names[] = {"bbox.precision", "bbox.scores", "bbox.recall",
                                        "segm.precision", "segm.scores", "segm.recall"};
    enum { COUNT = COCO_THRESHOLDS * COCO_RECALLS * COCO_AREAS * COCO_LIMITS };
    static double numbers[COUNT];
    struct error err = {0};
    char path[PATH_MAX];
    CU_ASSERT_EQUAL(check_here("checked", &err), 0);
    CU_ASSERT_EQUAL(write_here("checked", 1, numbers, &err), 0);
    CU_ASSERT_EQUAL(check_here("checked", &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/checked/%s.npy", unit_temp_dir(), names[i]);
        CU_ASSERT_EQUAL_FATAL(file_publish(path, "mine", 4, 0644, NULL), 0);
        CU_ASSERT_EQUAL(check_here("checked", &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "--arrays");
        ASSERT_CONTAINS(err.text, path);
        CU_ASSERT_EQUAL_FATAL(file_publish(path, "\x93NUMPY", 6, 0644, NULL), 0);
    }
    snprintf(path, sizeof(path), "%s/checked/bbox.recall.npy/below", unit_temp_dir());
    CU_ASSERT_EQUAL(coco_arrays_check(path, &err), -1);
    ASSERT_CONTAINS(err.text, "--arrays");
}

/* A folder's path that leaves no room for the longest name after it. */
static void a_path_that_is_too_long_is_named(void) {
    enum { NAME_SIZE = sizeof("/bbox.precision.npy") - 1 };
    enum { COUNT = COCO_THRESHOLDS * COCO_RECALLS * COCO_AREAS * COCO_LIMITS };
    static double numbers[COUNT];
    const struct coco_curves curves = {
        .precision = numbers, .score = numbers, .recall = numbers, .category_count = 1};
    struct error err = {0};
    char folder[PATH_MAX];
    memset(folder, '/', sizeof(folder));
    memcpy(folder, unit_temp_dir(), strlen(unit_temp_dir()));
    folder[sizeof(folder) - 1 - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(coco_arrays_check(folder, &err), 0);
    folder[sizeof(folder) - 1 - NAME_SIZE] = '/';
    folder[sizeof(folder) - NAME_SIZE] = '\0';
    CU_ASSERT_EQUAL(coco_arrays_check(folder, &err), -1);
    ASSERT_CONTAINS(err.text, "path too long");
    CU_ASSERT_EQUAL(coco_arrays_write(&curves, folder, "bbox", &err), -1);
    ASSERT_CONTAINS(err.text, "path too long");
}

static void what_cannot_be_written_is_an_error(void) {
    enum { COUNT = COCO_THRESHOLDS * COCO_RECALLS * COCO_AREAS * COCO_LIMITS };
    static double numbers[COUNT];
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/taken/bbox.scores.npy", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(write_here("taken", 1, numbers, &err), -1);
    ASSERT_CONTAINS(err.text, path);
    CU_ASSERT_EQUAL(write_here("taken/bbox.precision.npy", 1, numbers, &err), -1);
}

static void arrays_have_numpys_head_and_shape(void) {
    struct coco_object truth = {.area = 0};
    struct coco_input input = {
        .truth = {.list = &truth, .count = 1}, .image_count = 1, .category_count = 2};
    cleanup_coco_curves struct coco_curves curves = {0};
    struct error err = {0};
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/new", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &curves, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_arrays_write(&curves, folder, "segm", &err), 0);
    check_file("segm.precision.npy", "'shape': (10, 101, 2, 4, 3)", 10 * 101 * 2 * 4 * 3);
    check_file("segm.scores.npy", "'shape': (10, 101, 2, 4, 3)", 10 * 101 * 2 * 4 * 3);
    check_file("segm.recall.npy", "'shape': (10, 2, 4, 3)", 10 * 2 * 4 * 3);
}

UNIT_SUITE("eval.coco_arrays", UNIT(arrays_have_numpys_head_and_shape),
           UNIT(a_head_is_what_numpy_writes), UNIT(nothing_but_arrays_is_written_over),
           UNIT(a_path_that_is_too_long_is_named), UNIT(what_cannot_be_written_is_an_error))
