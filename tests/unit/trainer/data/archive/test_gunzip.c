#include "tests/support/shards.h"
#include "trainer/data/archive/gunzip.h"

#include <unistd.h>

/* "hello hello hello\n" by gzip -9n. */
static const unsigned char hello[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                      0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x5c,
                                      0x00, 0x3b, 0x7c, 0x8a, 0xdf, 0x12, 0x00, 0x00, 0x00};
static const char text[] = "hello hello hello\n";

static int unpack(const unsigned char *bytes, size_t size, struct error *err) {
    char from[700];
    char to[700];
    (void)snprintf(from, sizeof(from), "%s", shards_path("packed.gz"));
    (void)snprintf(to, sizeof(to), "%s", shards_path("plain"));
    (void)unlink(to);
    shards_put(from, bytes, size);
    return gunzip_file(from, to, err);
}

static void the_content_comes_out(void) {
    cleanup_buf struct buf out = {.max = 1 << 20};
    int64_t size = 0;
    CU_ASSERT_EQUAL_FATAL(unpack(hello, sizeof(hello), NULL), 0);
    CU_ASSERT_EQUAL(file_read(shards_path("plain"), &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), text);
    CU_ASSERT_TRUE(gunzip_is(shards_path("packed.gz")));
    CU_ASSERT_FALSE(gunzip_is(shards_path("plain")));
    CU_ASSERT_FALSE(gunzip_is(shards_path("missing")));
    CU_ASSERT_EQUAL(gunzip_size(shards_path("packed.gz"), &size, NULL), 0);
    CU_ASSERT_EQUAL(size, 18);
}

static void several_streams_follow_each_other(void) {
    unsigned char twice[2 * sizeof(hello)];
    cleanup_buf struct buf out = {.max = 1 << 20};
    memcpy(twice, hello, sizeof(hello));
    memcpy(twice + sizeof(hello), hello, sizeof(hello));
    CU_ASSERT_EQUAL_FATAL(unpack(twice, sizeof(twice), NULL), 0);
    CU_ASSERT_EQUAL(file_read(shards_path("plain"), &out, NULL), 0);
    CU_ASSERT_EQUAL(out.size, 2 * (sizeof(text) - 1));
}

static void damage_leaves_no_file(void) {
    unsigned char bytes[sizeof(hello)];
    for (size_t size = 3; size < sizeof(hello); size++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(unpack(hello, size, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ends within"));
        CU_ASSERT_EQUAL(access(shards_path("plain"), F_OK), -1);
    }
    for (size_t at = 10; at < sizeof(hello); at++) { /* before it, fields that do not matter */
        struct error err = {0};
        memcpy(bytes, hello, sizeof(hello));
        bytes[at] ^= 0x10;
        CU_ASSERT_EQUAL(unpack(bytes, sizeof(bytes), &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_EQUAL(access(shards_path("plain"), F_OK), -1);
    }
    struct error err = {0};
    CU_ASSERT_EQUAL(unpack((const unsigned char *)text, sizeof(text), &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not compressed with gzip"));
}

UNIT_SUITE("data.archive.gunzip", UNIT(the_content_comes_out),
           UNIT(several_streams_follow_each_other), UNIT(damage_leaves_no_file))
