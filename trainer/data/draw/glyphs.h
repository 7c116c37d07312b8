/* The letters that labels in pictures are written with: printable ASCII, 5 x 7 dots and two rows
 * below the line, one dot of space between letters. */
#ifndef TRAINER_DATA_DRAW_GLYPHS_H
#define TRAINER_DATA_DRAW_GLYPHS_H

#include <stdint.h>

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 9, GLYPH_STEP = GLYPH_WIDTH + 1 };

/* The rows of a character from the top, the leftmost dot in bit 4; '?' for what is not there. */
const uint8_t *glyph_rows(char character);

#endif
