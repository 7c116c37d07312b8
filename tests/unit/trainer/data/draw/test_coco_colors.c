#include "trainer/data/draw/coco_colors.h"

#include "tests/support/unit.h"
#include "trainer/data/draw/canvas/canvas.h"

#include <stdlib.h>

static int apart(const struct coco_drawing *a, const struct coco_drawing *b) {
    struct color x = color_of(a->color), y = color_of(b->color);
    int sum = 0;
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        sum += abs(x.channel[c] - y.channel[c]);
    return sum;
}

/* Three bowls in one another. */
static void objects_over_each_other_are_distinguished(void) {
    struct coco_drawing list[] = {{.box = {0, 0, 100, 100}, .has_box = true},
                                  {.box = {10, 10, 60, 60}, .has_box = true},
                                  {.box = {60, 20, 30, 50}, .has_box = true}};
    coco_colors_choose(list, 3);
    CU_ASSERT(apart(&list[0], &list[1]) >= 200);
    CU_ASSERT(apart(&list[1], &list[2]) >= 200);
    CU_ASSERT(apart(&list[0], &list[2]) >= 200);
}

/* A row of forty: each beside the next ones alone, more than there are colours in all. */
static void neighbours_in_a_crowd_never_share_a_colour(void) {
    struct coco_drawing list[40];
    for (int i = 0; i < 40; i++)
        list[i] = (struct coco_drawing){.box = {i * 10, 0, 15, 10}, .has_box = true};
    coco_colors_choose(list, 40);
    for (int i = 1; i < 40; i++)
        CU_ASSERT(apart(&list[i - 1], &list[i]) >= 150);
}

static void a_dozen_in_one_place_have_a_dozen_colours(void) {
    struct coco_drawing list[12];
    for (int i = 0; i < 12; i++)
        list[i] = (struct coco_drawing){.box = {i, i, 50, 50}, .has_box = true};
    coco_colors_choose(list, 12);
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < i; k++)
            CU_ASSERT(apart(&list[i], &list[k]) >= 40);
}

UNIT_SUITE("data.coco_colors", UNIT(objects_over_each_other_are_distinguished),
           UNIT(neighbours_in_a_crowd_never_share_a_colour),
           UNIT(a_dozen_in_one_place_have_a_dozen_colours))
