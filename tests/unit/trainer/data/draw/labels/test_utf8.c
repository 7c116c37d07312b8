#include "trainer/data/draw/labels/utf8.h"

#include "tests/support/unit.h"

#include <string.h>

static void check(const char *text, uint32_t character, size_t bytes) {
    const char *at = text;
    CU_ASSERT_EQUAL(utf8_next(&at), character);
    CU_ASSERT_EQUAL((size_t)(at - text), bytes);
}

static void characters_of_every_length(void) {
    check("a", 'a', 1);
    check("\x7f", 0x7f, 1);
    check("\xc3\xa4", 0xe4, 2);
    check("\xe7\x8c\xab", 0x732b, 3);
    check("\xf0\x9f\x90\x88!", 0x1f408, 4);
    check("\xf4\x8f\xbf\xbf", 0x10ffff, 4);
}

static void bytes_that_are_no_character_count_alone(void) {
    static const char *const BAD[] = {
        "\x80",             /* the rest of one */
        "\xff",             /* never there */
        "\xc3",             /* cut off */
        "\xe7\x8c",         /* cut off */
        "\xc3(",            /* another one begins */
        "\xc0\xaf",         /* longer than it has to be */
        "\xe0\x80\xaf",     /* the same */
        "\xf0\x80\x80\xaf", /* the same */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* above the last one */
        "\xf8\x88\x80\x80", /* of no length that there is */
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        check(BAD[i], UTF8_REPLACEMENT, 1);
}

static void a_cut_is_between_characters(void) {
    const char *text = "K\xc3\xa4se \xe7\x8c\xab";
    CU_ASSERT_EQUAL(utf8_length(text, 0), 0);
    CU_ASSERT_EQUAL(utf8_length(text, 1), 1);
    CU_ASSERT_EQUAL(utf8_length(text, 2), 3);
    CU_ASSERT_EQUAL(utf8_length(text, 6), 9);
    CU_ASSERT_EQUAL(utf8_length(text, 100), strlen(text));
    CU_ASSERT_EQUAL(utf8_length("a\xe7\x8c", 2), 2);
    CU_ASSERT_EQUAL(utf8_length("", 5), 0);
}

UNIT_SUITE("data.utf8", UNIT(characters_of_every_length),
           UNIT(bytes_that_are_no_character_count_alone), UNIT(a_cut_is_between_characters))
