#include "common/json/json_text.h"

#include "tests/support/unit.h"

#include <string.h>

static int resolve(const char *written, struct buf *out, struct error *err) {
    struct json_text text = {.bytes = written, .size = strlen(written)};
    buf_init(out, 1000);
    return json_text_add(&text, out, err);
}

static void escapes_are_resolved(void) {
    static const char *const CASES[][2] = {
        {"plain", "plain"},
        {"a\\\\b\\\"c\\/d", "a\\b\"c/d"},
        {"\\b\\f\\n\\r\\t", "\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00!", "\xf0\x9f\x98\x80!"},
        {"\\ud83dx", "\xef\xbf\xbdx"},
        {"\\ude00\\ud83d\\u0041", "\xef\xbf\xbd\xef\xbf\xbd"
                                  "A"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_buf struct buf out = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(resolve(CASES[i][0], &out, &err), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&out), CASES[i][1]);
    }
}

static void bad_escapes_are_refused(void) {
    static const char *const CASES[] = {"\\x", "\\", "\\u12", "\\u12g4", "\\u0000", "a\\u"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_buf struct buf out = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(resolve(CASES[i], &out, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
}

static void a_text_is_a_word_only_as_a_whole(void) {
    struct json_text text = {.bytes = "image_id", .size = 8};
    CU_ASSERT(json_text_is(&text, "image_id"));
    CU_ASSERT_FALSE(json_text_is(&text, "image_i"));
    CU_ASSERT_FALSE(json_text_is(&text, "image_ids"));
}

static void quoting_makes_a_json_string_of_any_bytes(void) {
    cleanup_buf struct buf out = {.max = 100};
    struct error err = {0};
    CU_ASSERT_EQUAL(json_text_quote(&out, "a\"b\\c\td\xff", 8, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "\"a\\\"b\\\\c\\td\xef\xbf\xbd\"");
}

UNIT_SUITE("common.json_text", UNIT(escapes_are_resolved), UNIT(bad_escapes_are_refused),
           UNIT(a_text_is_a_word_only_as_a_whole), UNIT(quoting_makes_a_json_string_of_any_bytes))
