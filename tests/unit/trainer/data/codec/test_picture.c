#include "trainer/data/codec/picture.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_picture_comes_back_in_full_size(void) {
    cleanup_image struct image image = {0}, again = {0};
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/a.jpg", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 53, 29, &err), 0);
    for (int y = 0; y < 29; y++)
        for (int x = 0; x < 53 * IMAGE_CHANNELS; x++)
            image_row(&image, y)[x] = (uint8_t)(4 * y + x / IMAGE_CHANNELS);
    CU_ASSERT_EQUAL_FATAL(picture_write(&image, false, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_read(path, &again, &err), 0);
    CU_ASSERT_EQUAL_FATAL(again.width, 53);
    CU_ASSERT_EQUAL_FATAL(again.height, 29);
    int worst = 0;
    for (int i = 0; i < 53 * 29 * IMAGE_CHANNELS; i++) {
        int apart = abs(image.pixels[i] - again.pixels[i]);
        worst = apart > worst ? apart : worst;
    }
    CU_ASSERT(worst <= 12);
}

/* Data sets hold a PNG under a JPEG's name now and then. */
static void a_png_is_read_whatever_it_is_called(void) {
    cleanup_image struct image image = {0}, again = {0};
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/a.png.jpg", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 5, 5, &err), 0);
    for (int i = 0; i < 75; i++)
        image.pixels[i] = (uint8_t)(3 * i);
    CU_ASSERT_EQUAL_FATAL(picture_write(&image, true, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(picture_read(path, &again, &err), 0);
    CU_ASSERT(again.width == 5 && again.height == 5);
    CU_ASSERT_EQUAL(memcmp(again.pixels, image.pixels, 75), 0);
}

/* A file after another, damaged ones between: each has its own pixels and its own damage. */
static void one_reader_reads_many(void) {
    cleanup_picture_reader struct picture_reader reader = {0};
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    cleanup_image struct image image = {0}, again = {0};
    char paths[3][PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 64, 48, NULL), 0);
    for (int i = 0; i < 64 * 48 * IMAGE_CHANNELS; i++)
        image.pixels[i] = (uint8_t)(i * 13 + i / 64);
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], PATH_MAX, "%s/many%d", unit_temp_dir(), i);
        CU_ASSERT_EQUAL_FATAL(picture_write(&image, i == 1, paths[i], NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_read(paths[2], &bytes, NULL), 0);
    memset(bytes.data + bytes.size / 2, 0, bytes.size / 4);
    CU_ASSERT_EQUAL_FATAL(file_publish(paths[2], bytes.data, bytes.size, 0644, NULL), 0);
    for (int i = 0; i < 9; i++) {
        CU_ASSERT_EQUAL_FATAL(picture_reader_read(&reader, paths[i % 3], &again, NULL), 0);
        CU_ASSERT(again.width == 64 && again.height == 48);
        CU_ASSERT_EQUAL(reader.damage != NULL, i % 3 == 2);
        if (i % 3 == 1)
            CU_ASSERT_EQUAL(memcmp(again.pixels, image.pixels, 64 * 48 * IMAGE_CHANNELS), 0);
        CU_ASSERT_EQUAL(picture_reader_read(&reader, "/nowhere/at/all.jpg", &again, NULL), -1);
    }
}

static void what_is_no_picture_is_refused_by_name(void) {
    cleanup_image struct image image = {0};
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/text.jpg", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "no picture", 10, 0644, &err), 0);
    CU_ASSERT_EQUAL(picture_read(path, &image, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, path);
    CU_ASSERT_EQUAL(picture_read("/nowhere/at/all.jpg", &image, &err), -1);
}

static void a_size_is_read_from_the_head(void) {
    cleanup_picture_reader struct picture_reader reader = {0};
    cleanup_image struct image image = {0};
    struct error err = {0};
    char path[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 37, 21, &err), 0);
    memset(image.pixels, 7, (size_t)37 * 21 * IMAGE_CHANNELS);
    for (int png = 0; png < 2; png++) {
        int width = 0, height = 0;
        snprintf(path, sizeof(path), "%s/size%d", unit_temp_dir(), png);
        CU_ASSERT_EQUAL_FATAL(picture_write(&image, png == 1, path, &err), 0);
        CU_ASSERT_EQUAL(picture_reader_size(&reader, path, &width, &height, &err), 0);
        CU_ASSERT(width == 37 && height == 21);
    }
    static const uint8_t huge[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\0\0\xff\xff";
    int width = 0, height = 0;
    CU_ASSERT_EQUAL_FATAL(file_publish(path, huge, 24, 0644, &err), 0);
    CU_ASSERT_EQUAL(picture_reader_size(&reader, path, &width, &height, &err), -1);
    ASSERT_CONTAINS(err.text, "2147483647 x 65535 pixels");
    CU_ASSERT_EQUAL_FATAL(file_publish(path, huge, 20, 0644, &err), 0);
    CU_ASSERT_EQUAL(picture_reader_size(&reader, path, &width, &height, &err), -1);
    ASSERT_CONTAINS(err.text, "truncated");
}

UNIT_SUITE("data.picture", UNIT(a_size_is_read_from_the_head),
           UNIT(a_picture_comes_back_in_full_size), UNIT(a_png_is_read_whatever_it_is_called),
           UNIT(one_reader_reads_many), UNIT(what_is_no_picture_is_refused_by_name))
