/* An object as it is painted: box, mask, colour and label. */
#ifndef TRAINER_DATA_DRAW_COCO_DRAWING_H
#define TRAINER_DATA_DRAW_COCO_DRAWING_H

#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stdint.h>

/* This many characters of a name are drawn; a label has 15 more bytes, and a NUL. */
enum { COCO_NAME_MAX = 48, COCO_LABEL_MAX = 4 * COCO_NAME_MAX + 16 };

struct coco_drawing {
    double box[4];
    bool has_box;
    bool crowd;
    const struct rle *mask;     /* borrowed; NULL for none */
    uint32_t color;             /* number of the colour; set by coco_draw */
    char label[COCO_LABEL_MAX]; /* UTF-8 */
};

#endif
