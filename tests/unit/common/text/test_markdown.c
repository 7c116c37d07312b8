#include "common/text/markdown.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void assert_wrapped(const char *text, const char *expected) {
    struct error err = {0};
    cleanup_buf struct buf ret;
    buf_init(&ret, 1 << 12);
    CU_ASSERT_EQUAL(markdown_wrap(text, &ret, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&ret), expected);
}

static void what_fits_is_one_line(void) {
    char text[MARKDOWN_COLUMNS + 1];
    char expected[MARKDOWN_COLUMNS + 2];
    assert_wrapped("", "\n");
    assert_wrapped("- an item", "- an item\n");
    memset(text, 'x', MARKDOWN_COLUMNS);
    text[MARKDOWN_COLUMNS] = '\0';
    text[50] = ' ';
    (void)snprintf(expected, sizeof(expected), "%s\n", text);
    assert_wrapped(text, expected);
}

static void lines_break_at_spaces_and_are_indented(void) {
    char text[MARKDOWN_COLUMNS + 10];
    char expected[MARKDOWN_COLUMNS + 20];
    memset(text, 'x', MARKDOWN_COLUMNS);
    memcpy(text + MARKDOWN_COLUMNS, " yy zz", sizeof(" yy zz"));
    (void)snprintf(expected, sizeof(expected), "%.100s\n  yy zz\n", text);
    assert_wrapped(text, expected);
    text[90] = ' ';
    text[MARKDOWN_COLUMNS] = 'x';
    (void)snprintf(expected, sizeof(expected), "%.90s\n  %s\n", text, text + 91);
    assert_wrapped(text, expected);
}

static void a_long_word_has_a_line_of_its_own(void) {
    char text[3 * MARKDOWN_COLUMNS];
    char expected[3 * MARKDOWN_COLUMNS + 10];
    memcpy(text, "- ", 2);
    memset(text + 2, 'x', 2 * MARKDOWN_COLUMNS);
    memcpy(text + 2 + 2 * MARKDOWN_COLUMNS, " y", sizeof(" y"));
    (void)snprintf(expected, sizeof(expected), "-\n  %.200s\n  y\n", text + 2);
    assert_wrapped(text, expected);
}

static void what_does_not_fit_the_buffer_is_an_error(void) {
    struct error err = {0};
    cleanup_buf struct buf ret;
    buf_init(&ret, 4);
    CU_ASSERT_EQUAL(markdown_wrap("too long", &ret, &err), -1);
    CU_ASSERT_NOT_EQUAL(err.code, 0);
}

UNIT_SUITE("common.markdown", UNIT(what_fits_is_one_line),
           UNIT(lines_break_at_spaces_and_are_indented), UNIT(a_long_word_has_a_line_of_its_own),
           UNIT(what_does_not_fit_the_buffer_is_an_error))
