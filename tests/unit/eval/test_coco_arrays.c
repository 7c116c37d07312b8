#include "eval/coco_arrays.h"

#include "common/buf.h"
#include "common/file.h"
#include "support/unit.h"

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

UNIT_MAIN("eval.coco_arrays", UNIT(arrays_have_numpys_head_and_shape))
