#include "common/json_stream.h"

#include "common/file.h"
#include "support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void start(struct json_stream *s, const char *text) {
    json_stream_memory(s, text, strlen(text));
}

static void an_object_is_read_key_by_key(void) {
    struct json_stream s = {0};
    struct error err = {0};
    struct json_text key, text;
    int64_t id = 0;
    bool flag = false;
    double number = 0;
    start(&s,
          " { \"id\" : 42 , \"name\":\"a\\\\b\", \"crowd\": true,\n\"area\":1.5e2, \"x\":null}\t");
    CU_ASSERT_EQUAL_FATAL(json_stream_object(&s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
    CU_ASSERT(json_text_is(&key, "id"));
    CU_ASSERT_EQUAL(json_stream_integer(&s, &id, &err), 0);
    CU_ASSERT_EQUAL(id, 42);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
    CU_ASSERT_EQUAL(json_stream_text(&s, &text, &err), 0);
    CU_ASSERT(text.escaped && text.size == 4 && memcmp(text.bytes, "a\\\\b", 4) == 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
    CU_ASSERT_EQUAL(json_stream_bool(&s, &flag, &err), 0);
    CU_ASSERT(flag);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
    CU_ASSERT_EQUAL(json_stream_number(&s, &number, &err), 0);
    CU_ASSERT(number == 150);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
    CU_ASSERT_EQUAL(json_stream_skip(&s, &err), 0);
    CU_ASSERT_EQUAL(json_stream_key(&s, &key, &err), 0);
    CU_ASSERT_EQUAL(json_stream_finish(&s, &err), 0);
}

static void a_list_is_read_item_by_item(void) {
    struct json_stream s = {0};
    struct error err = {0};
    double sum = 0, number = 0;
    start(&s, "[1, 2.5 ,[ ],3]");
    CU_ASSERT_EQUAL_FATAL(json_stream_array(&s, &err), 0);
    enum json_kind kind = JSON_KIND_END;
    while (json_stream_item(&s, &err) == 1) {
        CU_ASSERT_EQUAL(json_stream_kind(&s, &kind, &err), 0);
        if (kind == JSON_KIND_NUMBER && json_stream_number(&s, &number, &err) == 0)
            sum += number;
        else
            CU_ASSERT_EQUAL_FATAL(json_stream_skip(&s, &err), 0);
    }
    CU_ASSERT(sum == 6.5);
    CU_ASSERT_EQUAL(json_stream_finish(&s, &err), 0);
}

static void any_value_can_be_skipped(void) {
    static const char *const CASES[] = {"1",
                                        "\"a\"",
                                        "null",
                                        "false",
                                        "[]",
                                        "{}",
                                        "[[],[1,{\"a\":[2]}],{}]",
                                        "{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"\\\"\"}"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct json_stream s = {0};
        struct error err = {0};
        start(&s, CASES[i]);
        CU_ASSERT_EQUAL(json_stream_skip(&s, &err), 0);
        CU_ASSERT_EQUAL(json_stream_finish(&s, &err), 0);
    }
}

static void malformed_values_are_refused(void) {
    static const char *const CASES[] = {
        "",         "[",     "{",       "[1",       "[1,",        "[1,]",
        "[1 2]",    "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}",
        "nul",      "nulL",  "tru",     "falsy",    "\"a",        "\"a\\",
        "\"\x01\"", "NaN",   "01",      "[1}",      "{\"a\":1]",  "]",
        "-"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct json_stream s = {0};
        struct error err = {0};
        start(&s, CASES[i]);
        CU_ASSERT_EQUAL(json_stream_skip(&s, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "byte ");
    }
}

static void text_behind_the_value_is_refused(void) {
    struct json_stream s = {0};
    struct error err = {0};
    start(&s, "{} x");
    CU_ASSERT_EQUAL(json_stream_skip(&s, &err), 0);
    CU_ASSERT_EQUAL(json_stream_finish(&s, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "byte 3: expected the end of the file");
}

static void nesting_has_a_ceiling(void) {
    char deep[2 * JSON_STREAM_DEPTH_MAX];
    for (int levels = JSON_STREAM_DEPTH_MAX - 1; levels <= JSON_STREAM_DEPTH_MAX; levels++) {
        struct json_stream s = {0};
        struct error err = {0};
        memset(deep, '[', (size_t)levels);
        memset(deep + levels, ']', sizeof(deep) - (size_t)levels);
        json_stream_memory(&s, deep, 2 * (size_t)levels);
        CU_ASSERT_EQUAL(json_stream_skip(&s, &err), levels < JSON_STREAM_DEPTH_MAX ? 0 : -1);
    }
}

/* Every kind of token comes to lie across the border of the window somewhere. */
static void a_file_gives_the_same_as_memory_wherever_the_window_ends(void) {
    enum { RECORDS = 60000 };
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/big.json", unit_temp_dir());
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputc('[', out);
    for (int i = 0; i < RECORDS; i++)
        fprintf(out, "%s{\"id\" \n :%d,\"v\":%d.25, \"ok\":true,\"s\":\"t\\\"%d\",\"n\":null}",
                i > 0 ? "," : "", i, i, i);
    fputc(']', out);
    CU_ASSERT_EQUAL(fclose(out), 0);

    cleanup_json_stream struct json_stream s = {0};
    struct error err = {0};
    struct json_text key, text;
    double value = 0, sum = 0;
    int64_t id = 0, count = 0;
    bool ok = false;
    CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_array(&s, &err), 0);
    while (json_stream_item(&s, &err) == 1) {
        CU_ASSERT_EQUAL_FATAL(json_stream_object(&s, &err), 0);
        while (json_stream_key(&s, &key, &err) == 1) {
            if (json_text_is(&key, "id"))
                CU_ASSERT_EQUAL_FATAL(json_stream_integer(&s, &id, &err), 0)
            else if (json_text_is(&key, "v"))
                CU_ASSERT_EQUAL_FATAL(json_stream_number(&s, &value, &err), 0)
            else if (json_text_is(&key, "ok"))
                CU_ASSERT_EQUAL_FATAL(json_stream_bool(&s, &ok, &err), 0)
            else if (json_text_is(&key, "s"))
                CU_ASSERT_EQUAL_FATAL(json_stream_text(&s, &text, &err), 0)
            else
                CU_ASSERT_EQUAL_FATAL(json_stream_skip(&s, &err), 0)
        }
        CU_ASSERT_EQUAL_FATAL(id, count);
        sum += value;
        count++;
    }
    CU_ASSERT_EQUAL(json_stream_finish(&s, &err), 0);
    CU_ASSERT_EQUAL(count, RECORDS);
    CU_ASSERT(sum == RECORDS * (RECORDS - 1.0) / 2 + RECORDS * 0.25);
}

static void a_string_longer_than_the_window_is_read(void) {
    enum { LENGTH = 3 * JSON_STREAM_WINDOW };
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/long.json", unit_temp_dir());
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputc('"', out);
    for (int i = 0; i < LENGTH; i++)
        fputc('a' + i % 26, out);
    fputc('"', out);
    CU_ASSERT_EQUAL(fclose(out), 0);
    cleanup_json_stream struct json_stream s = {0};
    struct error err = {0};
    struct json_text text;
    CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_text(&s, &text, &err), 0);
    CU_ASSERT_EQUAL(text.size, LENGTH);
    CU_ASSERT_EQUAL(text.bytes[LENGTH - 1], 'a' + (LENGTH - 1) % 26);
}

static void what_is_no_file_is_refused(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/pipe", unit_temp_dir());
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    const char *const paths[] = {path, unit_temp_dir(), "/nowhere/at/all.json"};
    for (int i = 0; i < 3; i++) {
        cleanup_json_stream struct json_stream s = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(json_stream_open(&s, paths[i], &err), -1);
        ASSERT_CONTAINS(err.text, paths[i]);
    }
}

UNIT_MAIN("common.json_stream", UNIT(an_object_is_read_key_by_key),
          UNIT(a_list_is_read_item_by_item), UNIT(any_value_can_be_skipped),
          UNIT(malformed_values_are_refused), UNIT(text_behind_the_value_is_refused),
          UNIT(nesting_has_a_ceiling),
          UNIT(a_file_gives_the_same_as_memory_wherever_the_window_ends),
          UNIT(a_string_longer_than_the_window_is_read), UNIT(what_is_no_file_is_refused))
