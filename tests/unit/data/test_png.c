#include "data/png.h"

#include "support/unit.h"

#include <string.h>

static uint32_t big_endian(const char *at) {
    const uint8_t *b = (const uint8_t *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void a_picture_becomes_a_png_of_its_size(void) {
    cleanup_image struct image image = {0};
    cleanup_buf struct buf out = {.max = PNG_BYTES_MAX};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 37, 21, &err), 0);
    memset(image.pixels, 200, 37 * 21 * 3);
    CU_ASSERT_EQUAL_FATAL(png_encode(&image, &out, &err), 0);
    CU_ASSERT_EQUAL(memcmp(out.data, "\x89PNG\r\n\x1a\n", 8), 0);
    CU_ASSERT_EQUAL(memcmp(out.data + 12, "IHDR", 4), 0);
    CU_ASSERT_EQUAL(big_endian(out.data + 16), 37);
    CU_ASSERT_EQUAL(big_endian(out.data + 20), 21);
    CU_ASSERT_EQUAL(out.data[24], 8); /* bits a channel */
    CU_ASSERT_EQUAL(out.data[25], 2); /* RGB */
    CU_ASSERT_EQUAL(memcmp(out.data + out.size - 8, "IEND", 4), 0);
}

static void a_ceiling_too_low_is_an_error(void) {
    cleanup_image struct image image = {0};
    cleanup_buf struct buf out = {.max = 100};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 37, 21, &err), 0);
    memset(image.pixels, 200, 37 * 21 * 3);
    CU_ASSERT_EQUAL(png_encode(&image, &out, &err), -1);
    CU_ASSERT_EQUAL(out.size, 0);
}

UNIT_MAIN("data.png", UNIT(a_picture_becomes_a_png_of_its_size),
          UNIT(a_ceiling_too_low_is_an_error))
