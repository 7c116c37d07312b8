/* Built-in bitmap font for labels: printable ASCII, 5 x 7 dots and two rows below the baseline,
 * one dot between letters. */
#ifndef TRAINER_DATA_DRAW_LABELS_GLYPHS_H
#define TRAINER_DATA_DRAW_LABELS_GLYPHS_H

#include <stdint.h>

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 9, GLYPH_STEP = GLYPH_WIDTH + 1 };

/* Returns the rows of a character from the top, the leftmost dot in bit 4; '?' for a missing
 * character. */
const uint8_t *glyph_rows(char character);

#endif
