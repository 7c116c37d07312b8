/* Matching of a box by its largest overlap with an object.
 *
 * Source: Ren et al., "Faster R-CNN", 2015, section 3.1.2. */
#ifndef TRAINER_MATH_MATCH_H
#define TRAINER_MATH_MATCH_H

#include "trainer/math/kernel.h"

enum match { MATCH_IGNORED = -1, MATCH_BACKGROUND = 0, MATCH_OBJECT = 1 };

KERNEL int match_label(float best, float background_iou, float foreground_iou) {
    return best < background_iou   ? MATCH_BACKGROUND
           : best < foreground_iou ? MATCH_IGNORED
                                   : MATCH_OBJECT;
}

/* Returns how many of SLOTS slots are used if COUNT is given: later ones are not read. */
KERNEL int match_count(int count, int slots) {
    return count < 0 ? 0 : count < slots ? count : slots;
}

/* Returns true if a box lies within a picture of this size. */
KERNEL int match_inside(const float box[4], float height, float width) {
    return box[0] >= 0 && box[1] >= 0 && box[2] < width && box[3] < height;
}

#endif
