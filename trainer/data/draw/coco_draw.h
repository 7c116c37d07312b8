/* Paints a picture's objects over it: masks first, then boxes, then labels, large objects before
 * small ones, so that everything can be seen, and each in a colour of its own (coco_colors.h).
 * Labels sit on their box's upper edge, and move where another label already is. */
#ifndef TRAINER_DATA_DRAW_COCO_DRAW_H
#define TRAINER_DATA_DRAW_COCO_DRAW_H

#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/draw/fonts.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a name these characters are written; a label has 15 bytes more, and a NUL. */
enum { COCO_NAME_MAX = 48, COCO_LABEL_MAX = 4 * COCO_NAME_MAX + 16 };

struct coco_drawing {
    double box[4];
    bool has_box;
    bool crowd;
    const struct rle *mask;     /* borrowed; NULL for none */
    uint32_t color;             /* number of the colour; coco_draw chooses it */
    char label[COCO_LABEL_MAX]; /* UTF-8 */
};

/* Reorders LIST and sets its colours. FONTS are for labels, and may be NULL. */
int coco_draw(struct image *image, struct coco_drawing *list, size_t count, struct fonts *fonts,
              struct error *err);

#endif
