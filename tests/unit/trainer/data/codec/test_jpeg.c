#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/jpeg.h"

#include <stdlib.h>
#include <string.h>

static struct jpeg_decoder decoder;
static struct error err;

static const uint8_t *bytes_of(const struct buf *b) {
    return (const uint8_t *)b->data;
}

/* Largest difference between OUT, which lies at AT, and the same place of WHOLE. */
static int difference(const struct image *out, const struct rect *at, const struct rect *region,
                      const struct image *whole) {
    int most = 0;
    for (int y = region->top; y < region->top + region->height; y++)
        for (int x = region->left; x < region->left + region->width; x++)
            for (int c = 0; c < IMAGE_CHANNELS; c++) {
                int a = image_row(out, y - at->top)[(x - at->left) * IMAGE_CHANNELS + c];
                int b = image_row(whole, y)[x * IMAGE_CHANNELS + c];
                most = abs(a - b) > most ? abs(a - b) : most;
            }
    return most;
}

static void a_picture_comes_back_nearly_as_it_was(void) {
    cleanup_buf struct buf bytes = {0};
    cleanup_image struct image original = {0};
    cleanup_image struct image out = {0};
    struct rect at;
    const struct rect all = {0, 0, 120, 80};
    picture_encode(&bytes, 120, 80, 1);
    picture_fill(&original, 120, 80, 1);
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
    CU_ASSERT_EQUAL(decoder.width, 120);
    CU_ASSERT_EQUAL(decoder.height, 80);
    CU_ASSERT_EQUAL_FATAL(jpeg_decode(&decoder, &all, 1, &out, &at, &err), 0);
    CU_ASSERT_EQUAL(out.width, 120);
    CU_ASSERT_EQUAL(out.height, 80);
    CU_ASSERT(difference(&out, &at, &all, &original) < 64);
    CU_ASSERT_EQUAL(decoder.warnings, 0);
    CU_ASSERT_PTR_NULL(decoder.damage);
}

static void a_crop_has_the_pixels_of_the_whole_picture(void) {
    cleanup_buf struct buf bytes = {0};
    cleanup_image struct image whole = {0};
    cleanup_image struct image out = {0};
    struct rect at;
    const struct rect all = {0, 0, 203, 157};
    picture_encode(&bytes, 203, 157, 2);
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
    CU_ASSERT_EQUAL_FATAL(jpeg_decode(&decoder, &all, 1, &whole, &at, &err), 0);
    const struct rect crops[] = {
        {0, 0, 1, 1},     {202, 156, 1, 1},  {16, 16, 32, 32},  {17, 33, 50, 60},
        {100, 0, 103, 1}, {0, 100, 203, 57}, {31, 31, 130, 17}, {150, 140, 53, 17},
    };
    for (size_t i = 0; i < sizeof(crops) / sizeof(crops[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
        CU_ASSERT_EQUAL_FATAL(jpeg_decode(&decoder, &crops[i], 1, &out, &at, &err), 0);
        CU_ASSERT(at.left <= crops[i].left && at.top <= crops[i].top);
        CU_ASSERT(at.left + at.width >= crops[i].left + crops[i].width);
        CU_ASSERT(at.top + at.height >= crops[i].top + crops[i].height);
        CU_ASSERT_EQUAL(difference(&out, &at, &crops[i], &whole), 0);
    }
}

static void shrinking_gives_the_picture_in_small(void) {
    cleanup_buf struct buf bytes = {0};
    cleanup_image struct image out = {0};
    struct rect at;
    const struct rect all = {0, 0, 203, 157};
    picture_encode(&bytes, 203, 157, 2);
    for (int shrink = 2; shrink <= 8; shrink *= 2) {
        CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
        CU_ASSERT_EQUAL_FATAL(jpeg_decode(&decoder, &all, shrink, &out, &at, &err), 0);
        CU_ASSERT_EQUAL(out.width, (203 + shrink - 1) / shrink);
        CU_ASSERT_EQUAL(out.height, (157 + shrink - 1) / shrink);
    }
}

static void expect_refused(const void *bytes, size_t size, const char *why) {
    memset(&err, 0, sizeof(err));
    CU_ASSERT_EQUAL(jpeg_open(&decoder, bytes, size, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, why);
}

static void every_truncation_is_an_error(void) {
    cleanup_buf struct buf bytes = {0};
    picture_encode(&bytes, 64, 48, 3);
    for (size_t size = 0; size < bytes.size; size++) {
        CU_ASSERT_EQUAL(jpeg_open(&decoder, bytes_of(&bytes), size, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        if (size >= 4)
            ASSERT_CONTAINS(err.text, "truncated");
    }
    CU_ASSERT_EQUAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
}

static void what_is_no_jpeg_is_refused(void) {
    expect_refused("", 0, "empty");
    expect_refused("\x89PNG\r\n\x1a\n", 8, "not a JPEG");
    expect_refused("RIFF\x10\0\0\0WEBPVP8 ", 16, "not a JPEG or PNG, but WebP");
    expect_refused("GIF89a..", 8, "not a JPEG or PNG, but GIF");
    expect_refused("II*\0....", 8, "not a JPEG or PNG, but TIFF");
    expect_refused("\0\0\0\x18"
                   "ftypheic",
                   12, "not a JPEG or PNG, but HEIF");
    expect_refused("\0\0\0\x18"
                   "ftypavif",
                   12, "not a JPEG or PNG, but AVIF");
    expect_refused("BM", 2, "not a JPEG or PNG, but BMP");
    expect_refused("RIFF", 4, "not a JPEG or PNG");
    expect_refused("\xff\xd8\xff\xd9", 4, "JPEG");
}

static void a_hostile_size_is_refused_by_the_header(void) {
    cleanup_buf struct buf bytes = {0};
    picture_encode(&bytes, 64, 48, 3);
    for (size_t i = 0; i + 9 < bytes.size; i++) /* the frame header: FF C0, length, precision */
        if ((uint8_t)bytes.data[i] == 0xff && (uint8_t)bytes.data[i + 1] == 0xc0) {
            memcpy(bytes.data + i + 5, "\xff\xdc\xff\xdc", 4);
            break;
        }
    expect_refused(bytes.data, bytes.size, "65500 x 65500 pixels");
}

static void damage_is_counted_and_does_not_stop(void) {
    cleanup_buf struct buf bytes = {0};
    cleanup_image struct image out = {0};
    struct rect at;
    const struct rect all = {0, 0, 160, 120};
    picture_encode(&bytes, 160, 120, 4);
    /* A restart marker where none belongs, late in the coded data. */
    memcpy(bytes.data + bytes.size * 3 / 4, "\xff\xd3", 2);
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
    CU_ASSERT_EQUAL(jpeg_decode(&decoder, &all, 1, &out, &at, &err), 0);
    CU_ASSERT(decoder.warnings > 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(decoder.damage);
    ASSERT_CONTAINS(decoder.damage, "Corrupt JPEG data");
}

static void a_crop_outside_of_the_picture_is_our_fault(void) {
    cleanup_buf struct buf bytes = {0};
    cleanup_image struct image out = {0};
    struct rect at;
    const struct rect outside[] = {{0, 0, 65, 48}, {-1, 0, 4, 4}, {64, 0, 1, 1}, {0, 0, 0, 4}};
    picture_encode(&bytes, 64, 48, 3);
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&bytes), bytes.size, &err), 0);
        CU_ASSERT_EQUAL(jpeg_decode(&decoder, &outside[i], 1, &out, &at, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    }
}

/* A progressive file, its last scan again and again: a small file that would keep a reader busy. */
static void scans_have_a_ceiling(void) {
    cleanup_buf struct buf file = {.max = JPEG_BYTES_MAX}, many = {.max = JPEG_BYTES_MAX};
    cleanup_image struct image out = {0};
    struct rect at;
    CU_ASSERT_EQUAL_FATAL(
        file_read(RINGMASTER_TEST_DATA "/../golden/pictures/progressive.jpg", &file, &err), 0);
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&decoder, bytes_of(&file), file.size, &err), 0);
    const struct rect all = {0, 0, decoder.width, decoder.height};
    CU_ASSERT_EQUAL(jpeg_decode(&decoder, &all, 1, &out, &at, &err), 0);
    size_t end = file.size - 2, scan = 0; /* offsets of the end marker; of the last scan */
    for (size_t i = 0; i + 1 < end; i++)
        if (bytes_of(&file)[i] == 0xff && bytes_of(&file)[i + 1] == 0xda)
            scan = i;
    CU_ASSERT_FATAL(scan > 0);
    CU_ASSERT_EQUAL_FATAL(buf_add(&many, file.data, end, &err), 0);
    for (int i = 0; i < JPEG_SCANS_MAX; i++)
        CU_ASSERT_EQUAL_FATAL(buf_add(&many, file.data + scan, end - scan, &err), 0);
    CU_ASSERT_EQUAL_FATAL(buf_add(&many, "\xff\xd9", 2, &err), 0);
    memset(&err, 0, sizeof(err));
    int done = jpeg_open(&decoder, bytes_of(&many), many.size, &err);
    if (done == 0)
        done = jpeg_decode(&decoder, &all, 1, &out, &at, &err);
    CU_ASSERT_EQUAL(done, -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "more than 256 scans");
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(a_picture_comes_back_nearly_as_it_was),
        UNIT(a_crop_has_the_pixels_of_the_whole_picture),
        UNIT(shrinking_gives_the_picture_in_small),
        UNIT(every_truncation_is_an_error),
        UNIT(what_is_no_jpeg_is_refused),
        UNIT(a_hostile_size_is_refused_by_the_header),
        UNIT(damage_is_counted_and_does_not_stop),
        UNIT(scans_have_a_ceiling),
        UNIT(a_crop_outside_of_the_picture_is_our_fault),
    };
    if (jpeg_decoder_init(&decoder, NULL) != 0)
        return 1;
    int status = unit_main("data.jpeg", cases, sizeof(cases) / sizeof(cases[0]));
    jpeg_decoder_done(&decoder);
    return status;
}
