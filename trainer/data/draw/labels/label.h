/* Text labels in drawn pictures: a line of text on a plate. A character is drawn from the first
 * font that has it, else from the bitmap font (glyphs.h), else as '?'. The drawing code itself
 * computes the sizes. */
#ifndef TRAINER_DATA_DRAW_LABELS_LABEL_H
#define TRAINER_DATA_DRAW_LABELS_LABEL_H

#include "trainer/data/codec/image.h"
#include "trainer/data/draw/canvas/canvas.h"
#include "trainer/data/draw/labels/fonts.h"

enum { LABEL_DOT_MAX = 8 };

/* A plate in pixels. */
struct label_size {
    int width;
    int height;
    int base; /* from its upper edge to the baseline */
};

/* Returns the size of the plate of TEXT (UTF-8), at DOT pixels a dot (clamped to 1 to
 * LABEL_DOT_MAX). FONTS may be NULL. */
struct label_size label_measure(struct fonts *fonts, const char *text, int dot);

/* Draws TEXT on a plate of COLOR with its upper left corner at X, Y. Nothing is drawn outside the
 * plate. */
void label_paint(struct image *image, int x, int y, struct fonts *fonts, const char *text,
                 struct color color, int dot);

#endif
