/* Decoded picture in memory: 8 bits a channel, interleaved RGB (NHWC for one image), rows without
 * gaps. A struct can be reused for pictures of different sizes; its memory grows and never shrinks.
 */
#ifndef TRAINER_DATA_CODEC_IMAGE_H
#define TRAINER_DATA_CODEC_IMAGE_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { IMAGE_CHANNELS = 3 };

struct image {
    uint8_t *pixels; /* owned; [height][width][3] */
    int width;
    int height;
    size_t capacity; /* allocated bytes */
};

void image_done(struct image *image);

/* Sets the size to WIDTH x HEIGHT; the pixels are undefined. */
int image_resize(struct image *image, int width, int height, struct error *err);

static inline uint8_t *image_row(const struct image *image, int y) {
    return image->pixels + (size_t)y * (size_t)image->width * IMAGE_CHANNELS;
}

static inline uint8_t *image_pixel(const struct image *image, int x, int y) {
    return image_row(image, y) + (size_t)x * IMAGE_CHANNELS;
}

/* A rectangle of pixels; left and top are inclusive. */
struct rect {
    int left;
    int top;
    int width;
    int height;
};

#define cleanup_image __attribute__((cleanup(image_done)))

#endif
