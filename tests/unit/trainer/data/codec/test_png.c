#include "trainer/data/codec/png.h"

#include "tests/support/unit.h"

#include <stdlib.h>
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

static void expect_pixels(const uint8_t *bytes, size_t size, const uint8_t *rgb, int width,
                          int height) {
    cleanup_image struct image out = {0};
    struct error err = {0};
    CU_ASSERT(png_is(bytes, size));
    CU_ASSERT_EQUAL_FATAL(png_decode(bytes, size, &out, &err), 0);
    CU_ASSERT_EQUAL(out.width, width);
    CU_ASSERT_EQUAL(out.height, height);
    for (int i = 0; i < width * height * 3; i++)
        CU_ASSERT(abs(out.pixels[i] - rgb[i]) <= 1);
}

/* Files and pixels are Pillow's (13.0, convert("RGB")). */
static void palettes_grey_and_transparency_become_rgb(void) {
    static const uint8_t palette[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
        0x52, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x02, 0x02, 0x03, 0x00, 0x00, 0x00, 0xe0,
        0x1a, 0x8e, 0x89, 0x00, 0x00, 0x00, 0x09, 0x50, 0x4c, 0x54, 0x45, 0xff, 0x00, 0x00, 0x00,
        0xff, 0x00, 0x00, 0x00, 0xff, 0x2d, 0x4a, 0xcd, 0x8a, 0x00, 0x00, 0x00, 0x01, 0x74, 0x52,
        0x4e, 0x53, 0x00, 0x40, 0xe6, 0xd8, 0x66, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54,
        0x78, 0xda, 0x63, 0x90, 0x60, 0x98, 0x00, 0x00, 0x00, 0xdc, 0x00, 0xa9, 0x52, 0x1a, 0x13,
        0x8f, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    static const uint8_t of_palette[] = {255, 0, 0,   0, 255, 0, 0,   0, 255,
                                         0,   0, 255, 0, 255, 0, 255, 0, 0};
    static const uint8_t grey[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
        0x52, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x08, 0x04, 0x00, 0x00, 0x00, 0xb1,
        0xe9, 0xdc, 0x3f, 0x00, 0x00, 0x00, 0x0f, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xe0,
        0x62, 0x48, 0x69, 0x38, 0xf1, 0x1f, 0x00, 0x05, 0xe2, 0x02, 0xb6, 0x5d, 0x9b, 0xc2, 0x26,
        0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    static const uint8_t of_grey[] = {10, 10, 10, 100, 100, 100, 200, 200, 200};
    expect_pixels(palette, sizeof(palette), of_palette, 3, 2);
    expect_pixels(grey, sizeof(grey), of_grey, 3, 1);
}

static void what_was_written_is_read(void) {
    cleanup_image struct image image = {0};
    cleanup_buf struct buf bytes = {.max = PNG_BYTES_MAX};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 37, 21, &err), 0);
    for (int i = 0; i < 37 * 21 * 3; i++)
        image.pixels[i] = (uint8_t)(i * 7);
    CU_ASSERT_EQUAL_FATAL(png_encode(&image, &bytes, &err), 0);
    expect_pixels((const uint8_t *)bytes.data, bytes.size, image.pixels, 37, 21);
    /* Every cut is an error of data; the last chunk has no pixels, so its lack may be none. */
    cleanup_image struct image out = {0};
    for (size_t size = 8; size < bytes.size - 16; size++) {
        CU_ASSERT_EQUAL(png_decode((const uint8_t *)bytes.data, size, &out, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
    CU_ASSERT_FALSE(png_is((const uint8_t *)bytes.data, 7));
}

static void a_hostile_size_is_refused_by_the_header(void) {
    /* IHDR of 65,500 x 65,500 with its CRC, and nothing after it. */
    static const uint8_t bytes[] = {
        0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,    0,   0,   13,   'I',  'H',  'D',
        'R',  0,    0,    0xff, 0xdc, 0,    0,    0xff, 0xdc, 8,   2,   0,    0,    0,    0x1c,
        0x35, 0x81, 0x4c, 0,    0,    0,    0,    'I',  'D',  'A', 'T', 0x35, 0xaf, 0x06, 0x1e};
    cleanup_image struct image out = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(png_decode(bytes, sizeof(bytes), &out, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "65500 x 65500 pixels");
    CU_ASSERT_PTR_NULL(out.pixels);
}

UNIT_SUITE("data.png", UNIT(a_picture_becomes_a_png_of_its_size),
           UNIT(a_ceiling_too_low_is_an_error), UNIT(palettes_grey_and_transparency_become_rgb),
           UNIT(what_was_written_is_read), UNIT(a_hostile_size_is_refused_by_the_header))
