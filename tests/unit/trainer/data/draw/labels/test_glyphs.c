#include "trainer/data/draw/labels/glyphs.h"

#include "tests/support/unit.h"

#include <string.h>

static void every_printable_character_has_dots_of_its_own(void) {
    for (int c = '!'; c <= '~'; c++) {
        int dots = 0;
        for (int row = 0; row < GLYPH_HEIGHT; row++) {
            dots += glyph_rows((char)c)[row];
            CU_ASSERT(glyph_rows((char)c)[row] < 1 << GLYPH_WIDTH);
        }
        CU_ASSERT(dots > 0);
        for (int other = '!'; other < c; other++)
            CU_ASSERT(memcmp(glyph_rows((char)c), glyph_rows((char)other), GLYPH_HEIGHT) != 0);
    }
}

static void what_is_not_there_is_a_question_mark(void) {
    CU_ASSERT_PTR_EQUAL(glyph_rows('\xc3'), glyph_rows('?'));
    CU_ASSERT_PTR_EQUAL(glyph_rows('\n'), glyph_rows('?'));
}

static void an_l_looks_like_one(void) {
    static const uint8_t ROWS[GLYPH_HEIGHT] = {16, 16, 16, 16, 16, 16, 31, 0, 0};
    CU_ASSERT_EQUAL(memcmp(glyph_rows('L'), ROWS, sizeof(ROWS)), 0);
}

UNIT_SUITE("data.glyphs", UNIT(every_printable_character_has_dots_of_its_own),
           UNIT(what_is_not_there_is_a_question_mark), UNIT(an_l_looks_like_one))
