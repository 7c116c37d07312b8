/* Small JPEGs for tests: smooth coloured pictures that compress well, each different. */
#ifndef TESTS_SUPPORT_PICTURES_H
#define TESTS_SUPPORT_PICTURES_H

#include "common/buf.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/jpeg.h"

#include "common/file/file.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

/* Waves with a phase and length that depend on NUMBER, and differ from channel to channel. */
static inline void picture_fill(struct image *image, int width, int height, int number) {
    CU_ASSERT_FATAL(image_resize(image, width, height, NULL) == 0);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < IMAGE_CHANNELS; c++) {
                int wave = (x * (2 + c) + y * (5 - c) + number * 29) % 256;
                image_row(image, y)[x * IMAGE_CHANNELS + c] =
                    (uint8_t)(wave < 128 ? wave * 2 : (255 - wave) * 2);
            }
}

/* OUT, zeroed or in use, then holds the JPEG. */
static inline void picture_encode(struct buf *out, int width, int height, int number) {
    struct image image = {0};
    picture_fill(&image, width, height, number);
    if (out->max == 0)
        buf_init(out, JPEG_BYTES_MAX);
    out->size = 0;
    CU_ASSERT_FATAL(jpeg_encode(&image, 92, out, NULL) == 0);
    image_done(&image);
}

/* FOLDER/CLASS/NUMBER.jpg. */
static inline void picture_write(const char *folder, const char *class_name, int number, int width,
                                 int height) {
    struct buf bytes = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, class_name);
    CU_ASSERT_FATAL(file_make_dirs(path, NULL) == 0);
    snprintf(path, sizeof(path), "%s/%s/%03d.jpg", folder, class_name, number);
    picture_encode(&bytes, width, height, number);
    CU_ASSERT_FATAL(file_publish(path, bytes.data, bytes.size, 0644, NULL) == 0);
    buf_done(&bytes);
}

#endif
