#include "tests/support/unit.h"
#include "trainer/data/codec/pixel_statistics.h"

#include <math.h>
#include <string.h>

static void paint(struct image *image, int width, int height, const uint8_t *pixels) {
    CU_ASSERT_EQUAL_FATAL(image_resize(image, width, height, NULL), 0);
    memcpy(image->pixels, pixels, (size_t)width * (size_t)height * IMAGE_CHANNELS);
}

static void each_picture_has_the_same_weight(void) {
    static const uint8_t one[] = {0, 100, 255};
    static const uint8_t four[] = {255, 0, 255, 255, 0, 255, 255, 200, 255, 255, 200, 255};
    cleanup_image struct image image = {0};
    struct pixel_statistics s = {0};
    double mean[3], deviation[3];
    paint(&image, 1, 1, one);
    pixel_statistics_add(&s, &image);
    paint(&image, 2, 2, four);
    pixel_statistics_add(&s, &image);
    pixel_statistics_result(&s, mean, deviation);
    CU_ASSERT_DOUBLE_EQUAL(mean[0], 0.5, 1e-9); /* not 0.8, as all pixels would give */
    CU_ASSERT_DOUBLE_EQUAL(deviation[0], 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(mean[1], 100.0 / 255, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(deviation[1], sqrt(5000.0) / 255, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(mean[2], 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(deviation[2], 0, 1e-9);
}

/* However the pictures are divided, and in any order: the same bits. */
static void the_order_does_not_matter(void) {
    enum { PICTURES = 50 };
    struct pixel_statistics forward = {0}, parts[3] = {{0}}, backward = {0};
    for (int i = 0; i < 2 * PICTURES; i++) {
        const int number = i < PICTURES ? i : 2 * PICTURES - 1 - i;
        cleanup_image struct image image = {0};
        uint8_t pixels[7 * IMAGE_CHANNELS];
        for (size_t k = 0; k < sizeof(pixels); k++)
            pixels[k] = (uint8_t)(number * 37 + (int)k * 11 + number * (int)k);
        paint(&image, 7, 1, pixels);
        pixel_statistics_add(i < PICTURES ? &forward : &parts[number % 3], &image);
    }
    for (int i = 0; i < 3; i++)
        pixel_statistics_merge(&backward, &parts[i]);
    CU_ASSERT_EQUAL(memcmp(&forward, &backward, sizeof(forward)), 0);
    CU_ASSERT_EQUAL(forward.pictures, PICTURES);
}

static void nothing_gives_zeros(void) {
    struct pixel_statistics s = {0};
    double mean[3], deviation[3];
    pixel_statistics_result(&s, mean, deviation);
    CU_ASSERT_EQUAL(mean[0] + mean[1] + mean[2] + deviation[0], 0);
}

UNIT_SUITE("data.codec.pixel_statistics", UNIT(each_picture_has_the_same_weight),
           UNIT(the_order_does_not_matter), UNIT(nothing_gives_zeros))
