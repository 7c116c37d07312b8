/* Anchor boxes for object detection: the reference boxes of a region proposal network (Ren et al.
 * 2015, section 3.1), a few shapes around every pixel of every feature map. Numbered level by level
 * from the largest map, in a map by rows, then columns, then shapes. */
#ifndef TRAINER_MATH_ANCHOR_H
#define TRAINER_MATH_ANCHOR_H

#include "trainer/math/kernel.h"

#include <math.h>

enum { ANCHOR_LEVELS_MAX = 5, ANCHOR_SHAPES = 3 };

struct anchor_level {
    int first;                    /* number of its first anchor */
    int height, width;            /* of the feature map */
    int step_y, step_x;           /* stride in pixels of the picture */
    float cell[ANCHOR_SHAPES][4]; /* the boxes around pixel (0, 0) */
};

struct anchor_grid {
    int levels;
    int count; /* total number of anchors */
    struct anchor_level level[ANCHOR_LEVELS_MAX];
};

/* Returns the number of anchors of one level. */
KERNEL int anchor_level_count(const struct anchor_level *level) {
    return level->height * level->width * ANCHOR_SHAPES;
}

/* Returns the level of anchor NUMBER. */
KERNEL int anchor_level_of(const struct anchor_grid *grid, int number) {
    int level = 0;
    while (level + 1 < grid->levels && number >= grid->level[level + 1].first)
        level++;
    return level;
}

/* Computes the box of a level's anchor INDEX. */
KERNEL void anchor_box_at(const struct anchor_level *level, int index, float ret[4]) {
    int pixel = index / ANCHOR_SHAPES;
    const float *cell = level->cell[index % ANCHOR_SHAPES];
    float x = (float)(pixel % level->width * level->step_x);
    float y = (float)(pixel / level->width * level->step_y);
    ret[0] = x + cell[0];
    ret[1] = y + cell[1];
    ret[2] = x + cell[2];
    ret[3] = y + cell[3];
}

KERNEL void anchor_box(const struct anchor_grid *grid, int number, float ret[4]) {
    const struct anchor_level *level = &grid->level[anchor_level_of(grid, number)];
    anchor_box_at(level, number - level->first, ret);
}

/* How the three shapes of a cell are computed. */
enum anchor_rule {
    ANCHOR_EXACT,   /* exact sides (detectron2) */
    ANCHOR_ROUNDED, /* half sides rounded to whole pixels, ties to even (torchvision) */
    ANCHOR_SCALED   /* rounded at the base size, then enlarged; boxes include the last pixel
                     * (Detectron) */
};

/* Computes the three shapes of about SIZE * SIZE pixels, height / width 1/2, 1 and 2, around (0,
 * 0): torchvision's models/detection/anchor_utils.py, detectron2's modeling/anchor_generator.py;
 * maskrcnn-benchmark's modeling/rpn/anchor_generator.py, with boxes centred in a cell of
 * STRIDE pixels, moved here to (0, 0). */
KERNEL void anchor_cell(double size, double stride, enum anchor_rule rule,
                        float cell[ANCHOR_SHAPES][4]) {
    for (int shape = 0; shape < ANCHOR_SHAPES; shape++) {
        double ratio = shape == 0 ? 0.5 : shape == 1 ? 1.0 : 2.0, root = sqrt(ratio);
        double half_width = size / root / 2, half_height = size * root / 2;
        if (rule == ANCHOR_ROUNDED) {
            half_width = rint(half_width);
            half_height = rint(half_height);
        }
        if (rule == ANCHOR_SCALED) {
            double width = rint(sqrt(stride * stride / ratio)), height = rint(width * ratio);
            half_width = (width * (size / stride) - 1) / 2;
            half_height = (height * (size / stride) - 1) / 2;
        }
        cell[shape][0] = (float)-half_width;
        cell[shape][1] = (float)-half_height;
        cell[shape][2] = (float)half_width;
        cell[shape][3] = (float)half_height;
    }
}

#endif
