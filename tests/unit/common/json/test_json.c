#include "common/cleanup.h"
#include "common/json/json.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Documents come from users and from other hosts, so most cases are about refusals: where the error
 * points, and that it never quotes a value, which may be a token. "needle" stands for such a secret
 * in the broken documents.
 *
 * The members' readers are tested with one document that has a member of each type. A reader of the
 * wrong type has to name both types, and one of an absent member has to leave the default alone. */

/* Parses TEXT and drops the result. */
static int parse(const char *text, struct error *err) {
    cleanup_json json_t *root = NULL;
    return json_parse(text, strlen(text), "config.json", &root, err);
}

/* The fault is in the second line: line and column are those of an editor. */
static void errors_name_file_line_and_column(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("{\n \"a\": ]", &err), -1);
    ASSERT_CONTAINS(err.text, "config.json:2:");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

/* Jansson quotes the text near the fault, which would be the secret: a NUL escape, a string without
 * an end, a bad escape, a missing comma, and text after the document. Names of members may be told,
 * and a duplicate one has to be. */
static void errors_tell_names_and_no_values(void) {
    /* Each has the secret before or after the fault. */
    static const char *const broken[] = {"{\"token\":\"needle\\u0000\"}", "{\"token\":\"needle",
                                         "{\"token\":\"needle\\q\"}", "{\"a\":1 \"needle\"}",
                                         "{\"a\":1} \"needle\""};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(broken[i], &err), -1);
        ASSERT_CONTAINS(err.text, "config.json:1:");
        CU_ASSERT_PTR_NULL(strstr(err.text, "needle"));
    }
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("{\"lr\":\"needle\",\"lr\":1}", &err), -1);
    ASSERT_CONTAINS(err.text, "\"lr\"");
}

/* All of these are no JSON, or JSON that two readers understand differently. A lone surrogate is no
 * text, either. */
static void duplicates_nuls_and_trailing_text_are_refused(void) {
    CU_ASSERT_EQUAL(parse("{\"a\":1,\"a\":2}", NULL), -1);
    CU_ASSERT_EQUAL(parse("{\"a\":\"\\u0000\"}", NULL), -1);
    CU_ASSERT_EQUAL(parse("{} x", NULL), -1);
    CU_ASSERT_EQUAL(parse("", NULL), -1);
    CU_ASSERT_EQUAL(parse("{\"a\":\"\\ud800\"}", NULL), -1);
}

/* The limit itself is allowed, and one more is not. The third text never closes a list, so a
 * counter that took other bytes for closers would let it pass. In a string, brackets are text,
 * after an escaped quote, too. */
static void depth_is_bounded_and_brackets_in_strings_do_not_count(void) {
    char text[200];
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    text[2 * JSON_DEPTH_MAX] = '\0';
    CU_ASSERT_EQUAL(parse(text, NULL), 0);
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    text[2 * JSON_DEPTH_MAX + 2] = '\0';
    struct error err = {0};
    CU_ASSERT_EQUAL(parse(text, &err), -1);
    ASSERT_CONTAINS(err.text, "nested deeper");
    /* Only closing brackets lead out again. */
    char *wide = malloc(4 * (size_t)JSON_DEPTH_MAX + 8), *end = wide;
    CU_ASSERT_PTR_NOT_NULL_FATAL(wide);
    /* One opening bracket more than is allowed, and none that closes. */
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        end = stpcpy(end, "[1, ");
    CU_ASSERT_EQUAL(parse(wide, &err), -1);
    ASSERT_CONTAINS(err.text, "nested deeper");
    free(wide);
    CU_ASSERT_EQUAL(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"", NULL), 0);
}

/* The errors are compared as a whole: file, member, the type that is there, and the one expected.
 * Absent and null members leave numbers and truth values alone, while arrays and objects become
 * NULL. */
static void members_are_typed_and_null_counts_as_absent(void) {
    static const char text[] = "{\"s\":\"x\",\"n\":7,\"b\":true,\"a\":[1],\"o\":{},\"z\":null,"
                               "\"r\":1.5,\"f\":false}";
    cleanup_json json_t *root = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), "f", &root, NULL), 0);
    const char *string = "default";
    CU_ASSERT(json_member_string(root, "f", "s", &string, NULL) == 0 && strcmp(string, "x") == 0);
    CU_ASSERT_EQUAL(json_member_string(root, "f", "z", &string, NULL), 0);
    CU_ASSERT_EQUAL(json_member_string(root, "f", "missing", &string, NULL), 0);
    CU_ASSERT_STRING_EQUAL(string, "x");
    int64_t number = 0;
    CU_ASSERT(json_member_int(root, "f", "n", &number, NULL) == 0 && number == 7);
    bool truth = false;
    CU_ASSERT(json_member_bool(root, "f", "b", &truth, NULL) == 0 && truth);
    json_t *value = NULL;
    CU_ASSERT(json_member_array(root, "f", "a", &value, NULL) == 0 && json_array_size(value) == 1);
    CU_ASSERT(json_member_object(root, "f", "z", &value, NULL) == 0 && value == NULL);
    CU_ASSERT(json_member_object(root, "f", "o", &value, NULL) == 0 && value != NULL);
    struct error err = {0};
    CU_ASSERT_EQUAL(json_member_int(root, "f", "s", &number, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"s\" is a string, not a whole number");
    CU_ASSERT_EQUAL(json_member_string(root, "f", "n", &string, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"n\" is a number, not a string");
    CU_ASSERT_EQUAL(json_member_bool(root, "f", "o", &truth, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"o\" is an object, not true or false");
    CU_ASSERT_EQUAL(json_member_object(root, "f", "a", &value, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"a\" is an array, not an object");
    CU_ASSERT_EQUAL(json_member_array(root, "f", "b", &value, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"b\" is true or false, not an array");
    CU_ASSERT_EQUAL(json_member_array(root, "f", "r", &value, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"r\" is a number, not an array");
    CU_ASSERT_EQUAL(json_member_int(root, "f", "r", &number, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"r\" is a number, not a whole number");
    CU_ASSERT_EQUAL(json_member_string(root, "f", "f", &string, &err), -1);
    ASSERT_CONTAINS(err.text, "f: \"f\" is true or false, not a string");
    static const char *const absent[] = {"z", "missing"};
    for (int i = 0; i < 2; i++) {
        value = NULL;
        CU_ASSERT(json_member_int(root, "f", absent[i], &number, NULL) == 0 && number == 7);
        CU_ASSERT(json_member_bool(root, "f", absent[i], &truth, NULL) == 0 && truth);
        CU_ASSERT(json_member_array(root, "f", absent[i], &value, NULL) == 0 && value == NULL);
        CU_ASSERT(json_member_object(root, "f", absent[i], &value, NULL) == 0 && value == NULL);
    }
}

/* Callers tell a file that is not there, which may be normal, from one that cannot be read. */
static void a_missing_file_says_enoent(void) {
    cleanup_json json_t *root = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL(json_read_file("/no/such/file.json", &root, &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

/* Editors on Windows write one, and a plain syntax error at column 1 would puzzle the user, as the
 * mark is invisible. */
static void a_byte_order_mark_is_called_that(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("\xef\xbb\xbf{}", &err), -1);
    ASSERT_CONTAINS(err.text, "config.json: begins with a byte order mark");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

/* Among them are numbers that need 15, 16 and 17 digits. A string that looks like a number stays,
 * and so does a whole number without a point. */
static void numbers_are_written_as_short_as_they_read_back(void) {
    static const char *const same[] = {"0.1",
                                       "1e-5",
                                       "0.30000000000000004",
                                       "123456789.125",
                                       "2.0",
                                       "9.95",
                                       "{\"a\":[0.1,true],\"b\":\"0.10000000000000001\"}",
                                       "7"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        cleanup_json json_t *value = NULL;
        CU_ASSERT_EQUAL_FATAL(json_parse(same[i], strlen(same[i]), "x", &value, NULL), 0);
        cleanup_free char *text =
            json_shortest(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        CU_ASSERT_STRING_EQUAL(text, same[i]);
    }
}

/* Two spaces for each level and one newline at the end, as the state files and plans of both
 * programs have them. */
static void a_value_becomes_text_with_a_line_end(void) {
    cleanup_json json_t *value = json_pack("{s:[i]}", "a", 1);
    cleanup_buf struct buf text;
    buf_init(&text, 64);
    CU_ASSERT_EQUAL(json_add_text(value, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "{\n  \"a\": [\n    1\n  ]\n}\n");
}

/* The text has eight bytes with its newline; each smaller room has to fail, wherever it ends. The
 * loop's last turn has just enough. */
static void text_that_has_no_room_is_an_error(void) {
    cleanup_json json_t *value = json_pack("[i]", 7);
    for (size_t room = 0; room <= 8; room++) {
        cleanup_buf struct buf text = {.max = room};
        CU_ASSERT_EQUAL(json_add_text(value, &text, NULL), room == 8 ? 0 : -1);
    }
}

/* Valid text is kept as it is; a byte of none, and a character that was cut off, become U+FFFD. An
 * empty text is a string, too. */
static void any_bytes_become_a_string(void) {
    static const char *const texts[][2] = {{"a\xc3\xbc\n", "a\xc3\xbc\n"},
                                           {"", ""},
                                           {"\xff", "\xef\xbf\xbd"},
                                           {"cut \xc3", "cut \xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cleanup_json json_t *value = json_string_any(texts[i][0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        CU_ASSERT_STRING_EQUAL(json_string_value(value), texts[i][1]);
    }
}

UNIT_SUITE("common.json", UNIT(any_bytes_become_a_string),
           UNIT(a_value_becomes_text_with_a_line_end), UNIT(text_that_has_no_room_is_an_error),
           UNIT(a_byte_order_mark_is_called_that),
           UNIT(numbers_are_written_as_short_as_they_read_back),
           UNIT(errors_name_file_line_and_column), UNIT(errors_tell_names_and_no_values),
           UNIT(duplicates_nuls_and_trailing_text_are_refused),
           UNIT(depth_is_bounded_and_brackets_in_strings_do_not_count),
           UNIT(members_are_typed_and_null_counts_as_absent), UNIT(a_missing_file_says_enoent))
