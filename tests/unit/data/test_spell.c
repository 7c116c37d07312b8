#include "data/spell.h"

#include "support/unit.h"

static void check(const char *text, const char *spelled) {
    cleanup_buf struct buf out = {.max = 1000};
    CU_ASSERT_EQUAL(spell_ascii(text, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), spelled);
}

static void plain_text_stays(void) {
    check("traffic light?", "traffic light?");
    check("", "");
    CU_ASSERT(spell_is_plain("traffic light ~"));
    CU_ASSERT_FALSE(spell_is_plain("K\xc3\xa4se"));
    CU_ASSERT_FALSE(spell_is_plain("a\tb"));
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

UNIT_MAIN("data.spell", UNIT(plain_text_stays), UNIT(latin_loses_its_marks),
          UNIT(other_scripts_are_numbers), UNIT(bytes_that_are_no_text_do_no_harm))
