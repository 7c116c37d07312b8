#include "entrypoint/outcome/regex_dialect.h"
#include "tests/support/unit.h"

#include <string.h>

static void what_differs_is_rewritten(void) {
    static const struct {
        const char *python;
        const char *expected;
    } rows[] = {
        {"", ""},
        {"loss=([0-9.]+)", "loss=([0-9.]+)"},
        {"a\\Z", "a\\z"},
        {"\\v[\\v]", "\\x0b[\\x0b]"},
        {"a{,3}b{,}c{2,}", "a{0,3}b{0,}c{2,}"},
        {"a{,x}\\{,3}[{,3}]", "a{,x}\\{,3}[{,3}]"},
        {"[[:a][^][]]", "[\\[:a][^]\\[]]"},
        {"\\[[\\]]", "\\[[\\]]"},
        {"[(*]\\(*", "[(*]\\(*"},
        {"[a", "[a"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct regex_text t;
        CU_ASSERT_EQUAL_FATAL(regex_dialect_translate(rows[i].python, &t, NULL), 0);
        CU_ASSERT_STRING_EQUAL(t.bytes, rows[i].expected);
        CU_ASSERT_EQUAL(t.size, strlen(rows[i].expected));
        CU_ASSERT_EQUAL(t.origin[t.size], strlen(rows[i].python));
    }
}

static void offsets_are_those_of_the_users_text(void) {
    struct regex_text t;
    CU_ASSERT_EQUAL_FATAL(regex_dialect_translate("[[]a{,2}b", &t, NULL), 0);
    CU_ASSERT_STRING_EQUAL(t.bytes, "[\\[]a{0,2}b");
    static const uint16_t expected[] = {0, 1, 1, 2, 3, 4, 4, 4, 6, 7, 8, 9};
    CU_ASSERT_EQUAL(t.size + 1, sizeof(expected) / sizeof(expected[0]));
    CU_ASSERT_EQUAL(memcmp(t.origin, expected, sizeof(expected)), 0);
}

static void what_python_does_not_know_is_refused(void) {
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"(*UTF)a", "nothing to repeat at offset 1"},
        {"a\\", "a backslash at the end of the expression at offset 1"},
        {"a[\\", "a backslash at the end of the expression at offset 2"},
        {"ab\\p{L}", "a backslash before a letter that it gives no meaning at offset 2"},
        {"[\\e]", "a backslash before a letter that it gives no meaning at offset 1"},
        {"\\x4", "\\x without two hexadecimal digits at offset 0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct regex_text t;
        struct error err = {0};
        CU_ASSERT_EQUAL(regex_dialect_translate(rows[i].text, &t, &err), -1);
        CU_ASSERT_STRING_EQUAL(err.text, rows[i].error);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    }
}

static void the_longest_one_fits_whatever_it_becomes(void) {
    static char longest[REGEX_TEXT_MAX + 2];
    struct regex_text t;
    struct error err = {0};
    memset(longest, '[', REGEX_TEXT_MAX);
    CU_ASSERT_EQUAL(regex_dialect_translate(longest, &t, NULL), 0);
    CU_ASSERT_EQUAL(t.size, 2 * REGEX_TEXT_MAX - 1);
    for (size_t i = 0; i < REGEX_TEXT_MAX; i++)
        longest[i] = i % 2 == 0 ? '\\' : 'v';
    CU_ASSERT_EQUAL(regex_dialect_translate(longest, &t, NULL), 0);
    CU_ASSERT_EQUAL(t.size, REGEX_TRANSLATED_MAX);
    longest[REGEX_TEXT_MAX] = 'a';
    CU_ASSERT_EQUAL(regex_dialect_translate(longest, &t, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "513 bytes, more than 512");
}

UNIT_SUITE("outcome.regex_dialect", UNIT(what_differs_is_rewritten),
           UNIT(offsets_are_those_of_the_users_text), UNIT(what_python_does_not_know_is_refused),
           UNIT(the_longest_one_fits_whatever_it_becomes))
