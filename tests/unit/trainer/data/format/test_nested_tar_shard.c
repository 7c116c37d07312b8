#include "tests/support/shards.h"
#include "tests/support/tar.h"
#include "trainer/data/format/tar_walk.h"

/* A tar of two classes, of which the first begins with the FIRST_SIZE bytes of its archive. */
static void put_classes(struct buf *out, size_t *ret_first) {
    static const char *const names[] = {"n01.tar", "sub/n02.tar", "notes.txt"};
    static const char *const pictures[2][2] = {{"n01_1.JPEG", "n01_2.JPEG"},
                                               {"./n02_7.JPEG", "n02_8.png"}};
    for (size_t i = 0; i < 2; i++) {
        cleanup_buf struct buf inner = {.max = 1 << 20};
        for (size_t k = 0; k < 2; k++)
            tar_add(&inner, pictures[i][k], pictures[i][k]);
        tar_add(&inner, "readme.txt", "no picture");
        tar_add_bytes(&inner, "empty.jpg", '0', "", 0);
        CU_ASSERT_EQUAL(tar_write_end(&inner, NULL), 0);
        *ret_first = i == 0 ? inner.size : *ret_first;
        tar_add_bytes(out, names[i], '0', inner.data, inner.size);
    }
    tar_add(out, names[2], "text");
    CU_ASSERT_EQUAL(tar_write_end(out, NULL), 0);
}

static void classes_are_the_names_of_the_inner_archives(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    size_t first = 0;
    static const char *const expected[][3] = {{"n01", "n01_1.JPEG", "n01_1.JPEG"},
                                              {"n01", "n01_2.JPEG", "n01_2.JPEG"},
                                              {"n02", "n02_7.JPEG", "./n02_7.JPEG"},
                                              {"n02", "n02_8.png", "n02_8.png"}};
    put_classes(&out, &first);
    CU_ASSERT_PTR_EQUAL(format_of("x", (const uint8_t *)out.data, 512), &FORMAT_NESTED_TAR);
    shards_scan_bytes(&FORMAT_NESTED_TAR, out.data, out.size, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 4);
    CU_ASSERT_EQUAL(seen.bad, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why, "empty.jpg: empty"));
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_STRING_EQUAL(seen.classes[i], expected[i][0]);
        CU_ASSERT_STRING_EQUAL(seen.names[i], expected[i][1]);
        CU_ASSERT_EQUAL(seen.samples[i].label, SHARD_NO_LABEL);
        shards_read(&FORMAT_NESTED_TAR, &seen.samples[i], expected[i][2]);
    }
}

static void damage_within_one_class_leaves_the_others(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    struct shards_seen seen;
    size_t first = 0;
    put_classes(&out, &first);
    out.data[3 * TAR_BLOCK + 10] ^= 1; /* header of the first class's second picture */
    shards_scan_bytes(&FORMAT_NESTED_TAR, out.data, out.size, &seen);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_STRING_EQUAL(seen.names[1], "n02_7.JPEG");
    CU_ASSERT_EQUAL(seen.bad, 2);
    CU_ASSERT_EQUAL(seen.lost.begin, 3 * TAR_BLOCK);
    CU_ASSERT_EQUAL(seen.lost.end, TAR_BLOCK + first);
}

static void a_member_beyond_its_archive_is_bad(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    cleanup_buf struct buf inner = {.max = 1 << 20};
    struct shards_seen seen;
    tar_add_bytes(&inner, "a.jpg", '0', "12345678", 8);
    tar_add_bytes(&out, "n01.tar", '0', inner.data, TAR_BLOCK + 4);
    tar_add(&out, "n02.tar", "");
    CU_ASSERT_EQUAL(tar_write_end(&out, NULL), 0);
    shards_scan_bytes(&FORMAT_NESTED_TAR, out.data, out.size, &seen);
    CU_ASSERT_EQUAL(seen.count, 0);
    CU_ASSERT_EQUAL(seen.bad, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why, "ends beyond the archive"));
}

static void an_ordinary_tar_is_another_format(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    tar_add(&out, "a/b.jpg", "x");
    CU_ASSERT_FALSE(FORMAT_NESTED_TAR.is("x", (const uint8_t *)out.data, 512));
    CU_ASSERT_FALSE(FORMAT_NESTED_TAR.is("x.tar", (const uint8_t *)out.data, 100));
}

UNIT_SUITE("data.format.nested_tar_shard", UNIT(classes_are_the_names_of_the_inner_archives),
           UNIT(damage_within_one_class_leaves_the_others),
           UNIT(a_member_beyond_its_archive_is_bad), UNIT(an_ordinary_tar_is_another_format))
