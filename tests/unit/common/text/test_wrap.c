#include "common/text/wrap.h"

#include "common/cleanup.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *text, struct wrap wrap, const char *wanted) {
    cleanup_buf struct buf lines;
    buf_init(&lines, 4096);
    CU_ASSERT_EQUAL(wrap_add(&lines, text, wrap, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&lines), wanted);
}

static void lines_break_between_words(void) {
    expect("one two three", (struct wrap){.width = 7}, "one two\nthree");
    expect("one two three", (struct wrap){.width = 8}, "one two\nthree");
    expect("one two", (struct wrap){.width = 7}, "one two");
    expect("one two", (struct wrap){.width = 6}, "one\ntwo");
    expect("", (struct wrap){.width = 6}, "");
}

static void further_lines_are_indented(void) {
    expect("one two three", (struct wrap){.at = 4, .indent = 2, .width = 9}, "one\n  two\n  three");
    expect("a b\nc d", (struct wrap){.at = 2, .indent = 2, .width = 9}, "a b\n  c d");
    expect("a\n\nb\n", (struct wrap){.width = 9}, "a\n\nb\n");
}

static void what_fits_keeps_its_spaces(void) {
    expect("a   b", (struct wrap){.width = 5}, "a   b");
    expect("  a   b", (struct wrap){.width = 6}, "  a b");
}

static void long_words_stay_whole(void) {
    expect("a /a/long/path b", (struct wrap){.indent = 1, .width = 6}, "a\n /a/long/path\n b");
    expect("/a/long/path", (struct wrap){.indent = 1, .width = 6}, "/a/long/path");
}

static void letters_of_several_bytes_take_one_column(void) {
    CU_ASSERT_EQUAL(wrap_columns("\xc3\xa4\xe2\x82\xac", 5), 2);
    expect("\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4", (struct wrap){.width = 5},
           "\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4");
}

static void what_has_no_room_is_an_error(void) {
    struct buf lines;
    buf_init(&lines, 8);
    CU_ASSERT_EQUAL(wrap_add(&lines, "one two three", (struct wrap){.width = 7}, NULL), -1);
    buf_done(&lines);
}

static void prints_are_79_columns_wide(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (int i = 0; i < 2; i++)
        wrap_printf(out, "%s",
                    "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
                    "0123456789 0123456789\n");
    CU_ASSERT_EQUAL(fclose(out), 0);
    CU_ASSERT_EQUAL(strcspn(text, "\n"), 7 * 11 - 1);
    CU_ASSERT_EQUAL(size, 2 * (8 * 11));
    free(text);
}

UNIT_SUITE("common.wrap", UNIT(lines_break_between_words), UNIT(further_lines_are_indented),
           UNIT(what_fits_keeps_its_spaces), UNIT(long_words_stay_whole),
           UNIT(letters_of_several_bytes_take_one_column), UNIT(what_has_no_room_is_an_error),
           UNIT(prints_are_79_columns_wide))
