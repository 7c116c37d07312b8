#include "trainer/data/coco/coco_json.h"

#include "common/cleanup.h"
#include "tests/unit/trainer/data/coco/coco_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct coco_key key_of(const char *text) {
    struct coco_key key = {0};
    cleanup_fd int fd = open(write_text("keyed", text), O_RDONLY);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(coco_json_key(fd, "keyed", &key, NULL), 0);
    return key;
}

static void a_key_is_of_every_byte(void) {
    char text[] = "0123456789abcdefghi";
    struct coco_key whole = key_of(text);
    CU_ASSERT_EQUAL(whole.size, strlen(text));
    CU_ASSERT_EQUAL(whole.hash, key_of(text).hash);
    for (size_t i = 0; i < strlen(text); i++) {
        text[i] ^= 1;
        CU_ASSERT_NOT_EQUAL(key_of(text).hash, whole.hash);
        text[i] ^= 1;
    }
    CU_ASSERT_NOT_EQUAL(key_of("").hash, key_of("a").hash);
}

/* Over the piece in which a file is read, and with the order of its words. */
static void a_key_knows_the_order(void) {
    enum { SIZE = (1 << 20) + 24 };
    cleanup_free char *text = malloc(SIZE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'a', SIZE);
    text[SIZE] = '\0';
    memcpy(text, "12345678abcdefgh", 16);
    memcpy(text + SIZE - 8, "tail", 4);
    struct coco_key first = key_of(text);
    CU_ASSERT_EQUAL(first.size, SIZE);
    memcpy(text, "abcdefgh12345678", 16);
    CU_ASSERT_NOT_EQUAL(key_of(text).hash, first.hash);
    memcpy(text, "12345678abcdefgh", 16);
    memcpy(text + SIZE - 8, "tall", 4);
    CU_ASSERT_NOT_EQUAL(key_of(text).hash, first.hash);
}

static void what_is_no_json_in_utf8_is_called_by_its_name(void) {
    static const char *const CASES[][2] = {
        {"\x1f\x8b\x08", "gzip"},        {"BZh9", "bzip2"},
        {"PK\x03\x04", "a zip archive"}, {"\xef\xbb\xbf{}", "byte order mark"},
        {"\xff\xfe{", "UTF-16"},         {"\xfe\xff", "UTF-16"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_json_stream struct json_stream s = {0};
        struct error err = {0};
        const char *path = write_text("foreign.json", CASES[i][0]);
        CU_ASSERT_EQUAL(coco_json_open(&s, path, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, path);
        ASSERT_CONTAINS(err.text, CASES[i][1]);
    }
    cleanup_json_stream struct json_stream s = {0};
    CU_ASSERT_EQUAL(coco_json_open(&s, write_text("own.json", "{}"), NULL), 0);
}

UNIT_SUITE("data.coco_json", UNIT(a_key_is_of_every_byte), UNIT(a_key_knows_the_order),
           UNIT(what_is_no_json_in_utf8_is_called_by_its_name))
