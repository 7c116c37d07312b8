#include "trainer/data/draw/labels/ascii_fallback.h"

#include "tests/support/fonts.h"

static void check(const char *text, const char *spelled) {
    cleanup_buf struct buf out = {.max = 1000};
    CU_ASSERT_EQUAL(ascii_fallback(NULL, text, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), spelled);
}

static void plain_text_stays(void) {
    check("traffic light?", "traffic light?");
    check("", "");
    CU_ASSERT(ascii_fallback_is_plain(NULL, "traffic light ~"));
    CU_ASSERT_FALSE(ascii_fallback_is_plain(NULL, "K\xc3\xa4se"));
    CU_ASSERT_FALSE(ascii_fallback_is_plain(NULL, "a\tb"));
}

static void latin_loses_its_marks(void) {
    check("K\xc3\xa4se", "Kase");
    check("\xc5\x81\xc3\xb3"
          "d\xc5\xba",
          "Lodz");
}

static void other_scripts_are_numbers(void) {
    check("\xe7\x8c\xab", "U+732B");
    check("a \xf0\x9f\x90\x88!", "a U+1F408!");
}

static void bytes_that_are_no_text_do_no_harm(void) {
    check("a\xff"
          "b\xe7\x8c",
          "aU+FFFDbU+FFFDU+FFFD");
}

static void letters_of_fonts_stay(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    cleanup_buf struct buf out = {.max = 1000};
    struct fonts *fonts = fonts_of(FONTS_SANS);
    /* Latin, Cyrillic, and a cat that DejaVu does not have. */
    CU_ASSERT_EQUAL(ascii_fallback(fonts, "K\xc3\xa4se \xd0\xb6 \xe7\x8c\xab", &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "K\xc3\xa4se \xd0\xb6 U+732B");
    CU_ASSERT(ascii_fallback_is_plain(fonts, "K\xc3\xa4se \xd0\xb6"));
    CU_ASSERT_FALSE(ascii_fallback_is_plain(fonts, "\xe7\x8c\xab"));
    CU_ASSERT_FALSE(ascii_fallback_is_plain(fonts, "a\tb"));
    fonts_free(fonts);
}

UNIT_SUITE("data.ascii_fallback", UNIT(plain_text_stays), UNIT(latin_loses_its_marks),
           UNIT(other_scripts_are_numbers), UNIT(bytes_that_are_no_text_do_no_harm),
           UNIT(letters_of_fonts_stay))
