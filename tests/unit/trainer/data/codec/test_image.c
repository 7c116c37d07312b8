#include "tests/support/unit.h"
#include "trainer/data/codec/image.h"

static void it_grows_and_keeps_its_room(void) {
    cleanup_image struct image image = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 10, 20, NULL), 0);
    CU_ASSERT_EQUAL(image.capacity, 600);
    const uint8_t *pixels = image.pixels;
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 5, 4, NULL), 0);
    CU_ASSERT_PTR_EQUAL(image.pixels, pixels);
    CU_ASSERT_EQUAL(image.capacity, 600);
    CU_ASSERT_PTR_EQUAL(image_row(&image, 2), image.pixels + 30);
}

static void a_size_without_pixels_is_refused(void) {
    struct image image = {0};
    struct error err;
    CU_ASSERT_EQUAL(image_resize(&image, 0, 5, &err), -1);
    CU_ASSERT_EQUAL(image_resize(&image, 5, -1, &err), -1);
    image_done(&image);
    image_done(&image);
    CU_ASSERT_PTR_NULL(image.pixels);
}

UNIT_SUITE("data.image", UNIT(it_grows_and_keeps_its_room), UNIT(a_size_without_pixels_is_refused))
