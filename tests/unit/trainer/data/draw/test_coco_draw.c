#include "trainer/data/draw/coco_draw.h"

#include "tests/support/unit.h"

#include <string.h>

static void draw(struct image *image, struct coco_drawing *list, size_t count) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(image, 200, 100, &err), 0);
    memset(image->pixels, 100, 200 * 100 * IMAGE_CHANNELS);
    CU_ASSERT_EQUAL(coco_draw(image, list, count, NULL, &err), 0);
}

static bool touched(const struct image *image, int x, int y) {
    return memcmp(image_row(image, y) + x * IMAGE_CHANNELS, "ddd", IMAGE_CHANNELS) != 0;
}

static void a_label_sits_on_its_box(void) {
    cleanup_image struct image image = {0};
    struct coco_drawing list[] = {
        {.box = {50, 40, 100, 50}, .has_box = true, .color = 1, .label = "cat"}};
    draw(&image, list, 1);
    CU_ASSERT(touched(&image, 51, 32));
    CU_ASSERT(touched(&image, 50, 60));
    CU_ASSERT_FALSE(touched(&image, 100, 60));
    CU_ASSERT_FALSE(touched(&image, 100, 32));
}

static void a_label_at_the_edge_stays_inside(void) {
    cleanup_image struct image image = {0};
    struct coco_drawing list[] = {
        {.box = {0, 0, 199, 99}, .has_box = true, .color = 1, .label = "cat"}};
    draw(&image, list, 1);
    CU_ASSERT(touched(&image, 4, 4));
}

static void labels_of_one_place_do_not_cover_each_other(void) {
    cleanup_image struct image image = {0}, alone = {0};
    struct coco_drawing list[] = {
        {.box = {50, 40, 100, 50}, .has_box = true, .color = 1, .label = "first"},
        {.box = {50, 40, 100, 50}, .has_box = true, .color = 1, .label = "second"}};
    struct coco_drawing first[] = {list[0]};
    draw(&image, list, 2);
    draw(&alone, first, 1);
    size_t more = 0;
    for (int y = 0; y < 100; y++)
        for (int x = 0; x < 200; x++)
            more += touched(&image, x, y) && !touched(&alone, x, y);
    /* The second label's whole plate lies elsewhere. */
    CU_ASSERT(more > 200);
}

static void nothing_to_draw_leaves_the_picture(void) {
    cleanup_image struct image image = {0};
    draw(&image, NULL, 0);
    for (int x = 0; x < 200; x++)
        CU_ASSERT_FALSE(touched(&image, x, 50));
}

UNIT_SUITE("data.coco_draw", UNIT(a_label_sits_on_its_box), UNIT(a_label_at_the_edge_stays_inside),
           UNIT(labels_of_one_place_do_not_cover_each_other),
           UNIT(nothing_to_draw_leaves_the_picture))
