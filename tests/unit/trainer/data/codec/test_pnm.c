#include "trainer/data/codec/pnm.h"

#include "common/buf.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static int decode(const char *bytes, size_t size, struct image *out, struct error *err) {
    /* A copy of exactly this size, so that a sanitizer notices reads past its end. */
    uint8_t *copy = malloc(size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, bytes, size);
    uint8_t *tight = realloc(copy, size > 0 ? size : 1);
    const int result = pnm_decode(tight, size, out, err);
    free(tight);
    return result;
}

static void colours_and_greys_are_read(void) {
    static const char colours[] = "P6\n2 1\n255\nabcdef";
    static const char greys[] = "P5 # by hand\n#1 1\r 1\t2 255\nxy trailing bytes";
    cleanup_image struct image out = {0};
    CU_ASSERT_EQUAL_FATAL(decode(colours, sizeof(colours) - 1, &out, NULL), 0);
    CU_ASSERT(out.width == 2 && out.height == 1);
    CU_ASSERT_EQUAL(memcmp(out.pixels, "abcdef", 6), 0);
    CU_ASSERT_EQUAL_FATAL(decode(greys, sizeof(greys) - 1, &out, NULL), 0);
    CU_ASSERT(out.width == 1 && out.height == 2);
    CU_ASSERT_EQUAL(memcmp(out.pixels, "xxxyyy", 6), 0);
}

/* The first pixel may be any byte, of a blank or of a comment, too. */
static void one_blank_ends_the_header(void) {
    static const char bytes[] = "P5 2 1 255 \n#";
    cleanup_image struct image out = {0};
    CU_ASSERT_EQUAL_FATAL(decode(bytes, sizeof(bytes) - 1, &out, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(out.pixels, "\n\n\n###", 6), 0);
}

static void what_is_written_is_read(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 16};
    cleanup_image struct image in = {0};
    cleanup_image struct image out = {0};
    int width = 0;
    int height = 0;
    CU_ASSERT_EQUAL_FATAL(image_resize(&in, 13, 7, NULL), 0);
    for (int i = 0; i < 13 * 7 * 3; i++)
        in.pixels[i] = (uint8_t)(i * 5);
    CU_ASSERT_EQUAL_FATAL(pnm_encode(&in, &bytes, NULL), 0);
    CU_ASSERT(pnm_is((const uint8_t *)bytes.data, bytes.size));
    CU_ASSERT_EQUAL(pnm_size((const uint8_t *)bytes.data, bytes.size, &width, &height, NULL), 0);
    CU_ASSERT(width == 13 && height == 7);
    CU_ASSERT_EQUAL_FATAL(decode(bytes.data, bytes.size, &out, NULL), 0);
    CU_ASSERT(out.width == 13 && out.height == 7);
    CU_ASSERT_EQUAL(memcmp(in.pixels, out.pixels, 13 * 7 * 3), 0);
    for (size_t size = 0; size < bytes.size; size++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(decode(bytes.data, size, &out, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
}

static void wrong_headers_are_refused(void) {
    static const struct {
        const char *bytes;
        const char *why;
    } cases[] = {
        {"P6\n2 1\n65535\nabcdefabcdef", "the largest value of a pixel is 65535; expected 255"},
        {"P6\n0 1\n255\nabc", "PNM: 0 x 1 pixels"},
        {"P6\n99999 99999\n255\nabc", "PNM: 99999 x 99999 pixels"},
        {"P6\n9999999999 1\n255\nabc", "the header is damaged"},
        {"P6\n-2 1\n255\nabc", "the header is damaged"},
        {"P6\n2 1\n255abcdef", "the header is damaged"},
        {"P6 # no end", "the header is damaged"},
        {"P3\n1 1\n255\n1 2 3", "the header is damaged"},
        {"P6\n2 1\n255\nabc", "truncated: 3 bytes of pixels; expected 6"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_image struct image out = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(decode(cases[i].bytes, strlen(cases[i].bytes), &out, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, cases[i].why);
    }
}

UNIT_SUITE("codec.pnm", UNIT(colours_and_greys_are_read), UNIT(one_blank_ends_the_header),
           UNIT(what_is_written_is_read), UNIT(wrong_headers_are_refused))
