#include "trainer/data/draw/canvas/canvas.h"

#include "tests/support/unit.h"
#include "trainer/eval/rle_text.h"

#include <string.h>

static void make_gray(struct image *image, int width, int height) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(image, width, height, &err), 0);
    memset(image->pixels, 100, (size_t)width * (size_t)height * IMAGE_CHANNELS);
}

static bool is_gray(const struct image *image, int x, int y) {
    return memcmp(image_row(image, y) + x * IMAGE_CHANNELS, "ddd", IMAGE_CHANNELS) == 0;
}

static bool is_color(const struct image *image, int x, int y, struct color color) {
    return memcmp(image_row(image, y) + x * IMAGE_CHANNELS, color.channel, IMAGE_CHANNELS) == 0;
}

static void neighbouring_colours_differ(void) {
    for (uint32_t i = 0; i < 100; i++) {
        struct color a = color_of(i), b = color_of(i + 1);
        int apart = 0;
        for (int c = 0; c < IMAGE_CHANNELS; c++)
            apart += a.channel[c] > b.channel[c] ? a.channel[c] - b.channel[c]
                                                 : b.channel[c] - a.channel[c];
        CU_ASSERT(apart > 100);
    }
}

static void a_mask_tints_its_pixels_and_no_others(void) {
    cleanup_image struct image image = {0};
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    struct color color = color_of(1);
    make_gray(&image, 10, 10);
    CU_ASSERT_EQUAL_FATAL(rle_parse(&mask, "f0550000000l0", 13, 10, 10, &err), 0);
    CU_ASSERT_EQUAL(canvas_mask(&image, &mask, color, false, &err), 0);
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 10; x++)
            CU_ASSERT_EQUAL(is_gray(&image, x, y), x < 2 || x > 6 || y < 2 || y > 6);
    CU_ASSERT(is_color(&image, 2, 4, color));
    CU_ASSERT_FALSE(is_color(&image, 4, 4, color));
}

static void a_mask_of_another_size_is_refused(void) {
    cleanup_image struct image image = {0};
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    make_gray(&image, 10, 11);
    CU_ASSERT_EQUAL_FATAL(rle_parse(&mask, "f0550000000l0", 13, 10, 10, &err), 0);
    CU_ASSERT_EQUAL(canvas_mask(&image, &mask, color_of(0), false, &err), -1);
    ASSERT_CONTAINS(err.text, "10 x 10 for a picture of 10 x 11");
}

static void a_box_frames_its_pixels(void) {
    cleanup_image struct image image = {0};
    const double box[] = {5, 6, 10, 8};
    struct color color = color_of(3);
    make_gray(&image, 30, 30);
    canvas_box(&image, box, color, 2);
    CU_ASSERT(is_color(&image, 5, 6, color));
    CU_ASSERT(is_color(&image, 6, 7, color));
    CU_ASSERT(is_color(&image, 14, 13, color));
    CU_ASSERT(is_gray(&image, 10, 10));
    CU_ASSERT(is_gray(&image, 3, 6));
    CU_ASSERT(is_gray(&image, 16, 10));
}

static void what_lies_outside_is_clipped(void) {
    cleanup_image struct image image = {0};
    make_gray(&image, 8, 8);
    const double boxes[][4] = {{-100, -100, 1000, 1000},
                               {-5, -5, 3, 3},
                               {1e300, 1e300, 1, 1},
                               {3, 3, 0, 0},
                               {3, 3, -9, 4}};
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++)
        canvas_box(&image, boxes[i], color_of(0), 3);
    canvas_fill(&image, &(struct rect){-5, -5, 6, 100}, color_of(2), 255);
    canvas_blend(&image, 8, 3, color_of(2), 255);
    canvas_blend(&image, 3, -1, color_of(2), 255);
    CU_ASSERT(is_color(&image, 0, 7, color_of(2)));
    CU_ASSERT_EQUAL(image.width, 8);
}

UNIT_SUITE("data.canvas", UNIT(neighbouring_colours_differ),
           UNIT(a_mask_tints_its_pixels_and_no_others), UNIT(a_mask_of_another_size_is_refused),
           UNIT(a_box_frames_its_pixels), UNIT(what_lies_outside_is_clipped))
