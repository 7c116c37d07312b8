/* Labels: a line of text on a plate. A character is painted from the first of the fonts that has
 * it, else in dots (glyphs.h), '?' where they have none, too. Sizes come from the code that paints.
 */
#ifndef TRAINER_DATA_DRAW_LABEL_H
#define TRAINER_DATA_DRAW_LABEL_H

#include "trainer/data/codec/image.h"
#include "trainer/data/draw/canvas.h"
#include "trainer/data/draw/fonts.h"

enum { LABEL_DOT_MAX = 8 };

/* A plate in pixels. */
struct label_size {
    int width;
    int height;
    int base; /* from its upper edge down to the line on which letters stand */
};

/* How large the plate of TEXT (UTF-8) is, at DOT pixels a dot (1 to LABEL_DOT_MAX; others are taken
 * for the nearest). FONTS may be NULL. */
struct label_size label_measure(struct fonts *fonts, const char *text, int dot);

/* TEXT on a plate of COLOR whose left upper corner is at X, Y. Nothing of it lies outside. */
void label_paint(struct image *image, int x, int y, struct fonts *fonts, const char *text,
                 struct color color, int dot);

#endif
