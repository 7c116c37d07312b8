#include "tests/support/unit.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/shapes/prepare.h"
#include "trainer/data/shapes/shapes.h"

#include <stdio.h>
#include <string.h>

static struct prepare_options small(char folder[512], const char *name) {
    struct prepare_options o;
    prepare_defaults(&o);
    snprintf(folder, 512, "%s/%s", unit_temp_dir(), name);
    o.folder = folder;
    o.train = 21;
    o.validation = 10;
    return o;
}

static void open_part(struct dataset *set, const char *folder, const char *part) {
    char path[600];
    struct error err = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, part);
    if (dataset_open_folder(set, path, &err) != 0)
        CU_FAIL_FATAL("dataset_open_folder");
}

static void it_writes_what_a_data_set_reads(void) {
    char folder[512];
    cleanup_dataset struct dataset train = {0};
    cleanup_dataset struct dataset val = {0};
    struct prepare_options o = small(folder, "a");
    CU_ASSERT_EQUAL_FATAL(prepare_shapes(&o, NULL), 0);
    open_part(&train, folder, "train");
    open_part(&val, folder, "val");
    CU_ASSERT_EQUAL(train.count, 21);
    CU_ASSERT_EQUAL(val.count, 10);
    CU_ASSERT_EQUAL(train.classes, 8);
    CU_ASSERT_STRING_EQUAL(train.class_names[0], "circle");
}

static void same_seed_same_bytes_other_seed_others(void) {
    char folder[3][512];
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        const char *names[] = {"one", "two", "three"};
        cleanup_dataset struct dataset set = {0};
        cleanup_buf struct buf bytes;
        struct prepare_options o = small(folder[i], names[i]);
        o.seed = i < 2 ? 5 : 6;
        CU_ASSERT_EQUAL_FATAL(prepare_shapes(&o, NULL), 0);
        open_part(&set, folder[i], "train");
        buf_init(&bytes, 1);
        hash[i] = 0;
        for (size_t s = 0; s < set.count; s++) {
            CU_ASSERT_EQUAL_FATAL(dataset_read(&set, s, &bytes, NULL), 0);
            for (size_t b = 0; b < bytes.size; b++)
                hash[i] = hash[i] * 31 + (uint8_t)bytes.data[b];
        }
    }
    CU_ASSERT_EQUAL(hash[0], hash[1]);
    CU_ASSERT_NOT_EQUAL(hash[0], hash[2]);
}

static void it_never_writes_over_what_is_there(void) {
    char folder[512];
    struct error err;
    struct prepare_options o = small(folder, "again");
    CU_ASSERT_EQUAL_FATAL(prepare_shapes(&o, &err), 0);
    CU_ASSERT_EQUAL(prepare_shapes(&o, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "train exists already");
}

static void options_out_of_range_are_named(void) {
    char folder[512];
    struct error err;
    struct prepare_options o = small(folder, "never");
    o.classes = 1;
    CU_ASSERT_EQUAL(prepare_shapes(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "classes is 1; expected 2 to 10");
    o = small(folder, "never");
    o.side = 4;
    CU_ASSERT_EQUAL(prepare_shapes(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "side is 4");
    o = small(folder, "never");
    o.train = 0;
    CU_ASSERT_EQUAL(prepare_shapes(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "train is 0");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("data.prepare", UNIT(it_writes_what_a_data_set_reads),
           UNIT(same_seed_same_bytes_other_seed_others), UNIT(it_never_writes_over_what_is_there),
           UNIT(options_out_of_range_are_named))
