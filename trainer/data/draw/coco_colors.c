#include "trainer/data/draw/coco_colors.h"

#include "trainer/data/draw/canvas/canvas.h"

#include <math.h>
#include <stdlib.h>

enum {
    PALETTE = 24,
    FAR_APART = 300 /* difference, summed over channels, from which two colours count as distinct */
};

/* A neighbour of the same colour is worse than any number of distant ones. */
static const double BESIDE = 1000;

/* Objects are neighbours if their boxes, enlarged by this share of their sides, overlap. */
static const double REACH = 0.15;

static bool beside(const struct coco_drawing *a, const struct coco_drawing *b) {
    for (int axis = 0; axis < 2; axis++) {
        double reach = REACH * (a->box[axis + 2] + b->box[axis + 2]);
        if (a->box[axis] > b->box[axis] + b->box[axis + 2] + reach ||
            b->box[axis] > a->box[axis] + a->box[axis + 2] + reach)
            return false;
    }
    return true;
}

/* Returns 1 for the same colour, 0 from FAR_APART on. */
static double likeness(uint32_t a, uint32_t b) {
    struct color x = color_of(a), y = color_of(b);
    int apart = 0;
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        apart += abs(x.channel[c] - y.channel[c]);
    return apart < FAR_APART ? 1 - (double)apart / FAR_APART : 0;
}

void coco_colors_choose(struct coco_drawing *list, size_t count) {
    double alike[PALETTE][PALETTE];
    for (uint32_t a = 0; a < PALETTE; a++)
        for (uint32_t b = 0; b < PALETTE; b++)
            alike[a][b] = likeness(a, b);
    for (size_t i = 0; i < count; i++) {
        double costs[PALETTE] = {0};
        for (size_t k = 0; k < i; k++) {
            double weight = beside(&list[i], &list[k]) ? BESIDE : 1;
            for (uint32_t c = 0; c < PALETTE; c++)
                costs[c] += weight * alike[list[k].color][c] + (list[k].color == c ? weight : 0);
        }
        list[i].color = 0;
        for (uint32_t c = 1; c < PALETTE; c++)
            if (costs[c] < costs[list[i].color])
                list[i].color = c;
    }
}
