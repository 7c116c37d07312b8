/* Glyphs of a font as bitmaps: the shape of one letter. */
#ifndef TRAINER_DATA_DRAW_LABELS_GLYPH_H
#define TRAINER_DATA_DRAW_LABELS_GLYPH_H

#include <stdint.h>

struct glyph {
    const uint8_t *coverage; /* borrowed; [height][width], 255 where the letter covers a pixel */
    int width;
    int height;
    int left;    /* from the pen to the first column, in pixels; may be negative */
    int top;     /* rows above the baseline */
    int advance; /* from this letter's pen to the next one's, not negative */
};

#endif
