#include "common/json/json_stream.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    static const char *const CASES[] = {"",           "[",
                                        "{",          "[1",
                                        "[1,",        "[1,]",
                                        "[1 2]",      "{1:2}",
                                        "{\"a\"}",    "{\"a\":}",
                                        "{\"a\":1,}", "{\"a\":1 \"b\":2}",
                                        "[1;2]",      "{\"a\":1;\"b\":2}",
                                        "nul",        "nulL",
                                        "tru",        "falsy",
                                        "\"a",        "\"a\\",
                                        "\"\x01\"",   "NaN",
                                        "01",         "[1}",
                                        "{\"a\":1]",  "]",
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

/* Reads a record of every kind of token, and holds it against what it says. */
static void check_record(struct json_stream *s) {
    static const char *const keys[] = {"id", "v", "yes", "no", "s", "skipped", "n", "last"};
    struct error err = {0};
    struct json_text key, text;
    double value = 0;
    int64_t number = 0, last = 0;
    bool yes = false, no = true;
    CU_ASSERT_EQUAL_FATAL(json_stream_array(s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_item(s, &err), 1);
    CU_ASSERT_EQUAL_FATAL(json_stream_object(s, &err), 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(json_stream_key(s, &key, &err), 1);
        CU_ASSERT_FATAL(json_text_is(&key, keys[i]));
        switch (i) {
        case 0:
            CU_ASSERT_EQUAL_FATAL(json_stream_integer(s, &number, &err), 0);
            break;
        case 1:
            CU_ASSERT_EQUAL_FATAL(json_stream_number(s, &value, &err), 0);
            break;
        case 2:
            CU_ASSERT_EQUAL_FATAL(json_stream_bool(s, &yes, &err), 0);
            break;
        case 3:
            CU_ASSERT_EQUAL_FATAL(json_stream_bool(s, &no, &err), 0);
            break;
        case 4:
            CU_ASSERT_EQUAL_FATAL(json_stream_text(s, &text, &err), 0);
            CU_ASSERT_FATAL(text.escaped && text.size == 4 && memcmp(text.bytes, "t\\\"k", 4) == 0);
            break;
        case 7:
            CU_ASSERT_EQUAL_FATAL(json_stream_integer(s, &last, &err), 0);
            break;
        default:
            CU_ASSERT_EQUAL_FATAL(json_stream_skip(s, &err), 0);
        }
    }
    CU_ASSERT_EQUAL(number, -1234567);
    CU_ASSERT_EQUAL(value, -125);
    CU_ASSERT(yes && !no);
    CU_ASSERT_EQUAL(last, 89);
    CU_ASSERT_EQUAL_FATAL(json_stream_key(s, &key, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_item(s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(json_stream_finish(s, &err), 0);
}

/* A file of a list with that record, its byte CUT being the first that the window does not hold.
 * What follows fills a whole window, so that nothing of the one before stays in memory. */
static void write_cut(const char *path, const char *record, size_t cut) {
    static char text[2 * JSON_STREAM_WINDOW];
    memset(text, ' ', sizeof(text));
    text[0] = '[';
    char *at = text + JSON_STREAM_WINDOW - cut;
    memcpy(at, record, strlen(record));
    at[strlen(record) + 1] = ']';
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(text, 1, sizeof(text), out), sizeof(text));
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
}

/* The window's border is moved over the record byte by byte. */
static void a_file_gives_the_same_as_memory_wherever_the_window_ends(void) {
    static const char record[] = "{\"id\" \n :-1234567,\"v\": -12.5e1 , \"yes\":true,\"no\":false,"
                                 "\"s\":\"t\\\"k\",\"skipped\":[{\"a\\\\\" :\"\\u00e9\"},[ ],2],"
                                 "\"n\":null,\"last\":89}";
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/cut.json", unit_temp_dir());
    for (size_t cut = 0; cut <= strlen(record); cut++) {
        write_cut(path, record, cut);
        cleanup_json_stream struct json_stream s = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
        check_record(&s);
    }
}

/* A word that is wrong only after the border is not taken for the one that it begins like. */
static void what_is_wrong_behind_the_border_is_refused(void) {
    static const char *const CASES[] = {"nulL", "falsy", "trup",  "\"a\x01\"",
                                        "12.",  "-",     "[1 2]", "{\"a\";1}"};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/wrong.json", unit_temp_dir());
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        for (size_t cut = 0; cut <= strlen(CASES[i]); cut++) {
            write_cut(path, CASES[i], cut);
            cleanup_json_stream struct json_stream s = {0};
            struct error err = {0};
            CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
            CU_ASSERT_EQUAL(json_stream_skip(&s, &err), -1);
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        }
}

static void a_long_key_comes_back_cut_where_it_is_kept(void) {
    char text[2 * JSON_STREAM_KEY_MAX];
    for (int length = JSON_STREAM_KEY_MAX - 1; length <= JSON_STREAM_KEY_MAX + 44; length++) {
        for (int blank = 0; blank <= 1; blank++) {
            struct json_stream s = {0};
            struct error err = {0};
            struct json_text key;
            int64_t value = 0;
            int size = snprintf(text, sizeof(text), "{\"%0*d\"%s:7}", length, 3, blank ? " " : "");
            json_stream_memory(&s, text, (size_t)size);
            CU_ASSERT_EQUAL_FATAL(json_stream_object(&s, &err), 0);
            CU_ASSERT_EQUAL_FATAL(json_stream_key(&s, &key, &err), 1);
            int kept = blank && length > JSON_STREAM_KEY_MAX ? JSON_STREAM_KEY_MAX : length;
            CU_ASSERT_EQUAL(key.size, (size_t)kept);
            CU_ASSERT_EQUAL(json_stream_integer(&s, &value, &err), 0);
            CU_ASSERT_EQUAL(value, 7);
        }
    }
}

/* Writes a file of one string of SIZE bytes. */
static void write_string(const char *path, size_t size) {
    static char piece[JSON_STREAM_WINDOW];
    for (size_t i = 0; i < sizeof(piece); i++)
        piece[i] = (char)('a' + i % 26);
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputc('"', out);
    for (size_t at = 0; at < size; at += sizeof(piece))
        fwrite(piece, 1, size - at < sizeof(piece) ? size - at : sizeof(piece), out);
    fputc('"', out);
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
}

static void strings_have_a_ceiling(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/string.json", unit_temp_dir());
    for (size_t more = 0; more <= 1; more++) {
        write_string(path, JSON_STREAM_STRING_MAX + more);
        cleanup_json_stream struct json_stream s = {0};
        struct error err = {0};
        struct json_text text = {0};
        CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
        CU_ASSERT_EQUAL(json_stream_text(&s, &text, &err), more == 0 ? 0 : -1);
        if (more == 0)
            CU_ASSERT_EQUAL(text.size, JSON_STREAM_STRING_MAX)
        else
            ASSERT_CONTAINS(err.text, "byte 1: a string is too long");
    }
    CU_ASSERT_EQUAL(truncate(path, 0), 0);
}

/* One of ever more bytes does not take ever more memory before it is refused. */
static void a_string_without_an_end_is_given_up_at_the_ceiling(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/endless.json", unit_temp_dir());
    write_string(path, (size_t)2 * JSON_STREAM_STRING_MAX + JSON_STREAM_WINDOW);
    cleanup_json_stream struct json_stream s = {0};
    struct error err = {0};
    struct json_text text;
    CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
    CU_ASSERT_EQUAL(json_stream_text(&s, &text, &err), -1);
    ASSERT_CONTAINS(err.text, "a string is too long");
    CU_ASSERT(s.capacity <= (size_t)2 * JSON_STREAM_STRING_MAX);
    CU_ASSERT_EQUAL(truncate(path, 0), 0);
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

/* A disk that fails in the middle of a file: every reader says so. */
static void a_read_that_fails_is_reported(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/fails.json", unit_temp_dir());
    write_cut(path, "[]", 2);
    for (int reader = 0; reader < 10; reader++) {
        cleanup_json_stream struct json_stream s = {0};
        struct error err = {0};
        struct json_text text;
        enum json_kind kind;
        int64_t integer;
        double number;
        bool truth;
        CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, path, &err), 0);
        int unreadable = open(path, O_WRONLY | O_CLOEXEC);
        CU_ASSERT_FATAL(unreadable >= 0 && dup2(unreadable, s.fd) == s.fd);
        close(unreadable);
        int result = reader == 0   ? json_stream_kind(&s, &kind, &err)
                     : reader == 1 ? json_stream_object(&s, &err)
                     : reader == 2 ? json_stream_array(&s, &err)
                     : reader == 3 ? json_stream_key(&s, &text, &err)
                     : reader == 4 ? json_stream_item(&s, &err)
                     : reader == 5 ? json_stream_integer(&s, &integer, &err)
                     : reader == 6 ? json_stream_number(&s, &number, &err)
                     : reader == 7 ? json_stream_bool(&s, &truth, &err)
                     : reader == 8 ? json_stream_skip(&s, &err)
                                   : json_stream_finish(&s, &err);
        CU_ASSERT_EQUAL(result, -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "reading on");
    }
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

UNIT_SUITE("common.json_stream", UNIT(an_object_is_read_key_by_key),
           UNIT(a_list_is_read_item_by_item), UNIT(any_value_can_be_skipped),
           UNIT(malformed_values_are_refused), UNIT(text_behind_the_value_is_refused),
           UNIT(nesting_has_a_ceiling),
           UNIT(a_file_gives_the_same_as_memory_wherever_the_window_ends),
           UNIT(what_is_wrong_behind_the_border_is_refused),
           UNIT(a_long_key_comes_back_cut_where_it_is_kept), UNIT(strings_have_a_ceiling),
           UNIT(a_string_without_an_end_is_given_up_at_the_ceiling),
           UNIT(a_string_longer_than_the_window_is_read), UNIT(a_read_that_fails_is_reported),
           UNIT(what_is_no_file_is_refused))
