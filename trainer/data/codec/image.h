/* A picture in memory: 8 bits a channel, interleaved RGB (NHWC for one image), rows without gaps.
 * One struct is used again and again for pictures of changing size; it grows and never shrinks. */
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
    size_t capacity; /* bytes behind pixels */
};

void image_done(struct image *image);

/* Gives the image WIDTH x HEIGHT pixels of undefined content. */
int image_resize(struct image *image, int width, int height, struct error *err);

static inline uint8_t *image_row(const struct image *image, int y) {
    return image->pixels + (size_t)y * (size_t)image->width * IMAGE_CHANNELS;
}

static inline uint8_t *image_pixel(const struct image *image, int x, int y) {
    return image_row(image, y) + (size_t)x * IMAGE_CHANNELS;
}

/* A rectangle of pixels: left and top inclusive. */
struct rect {
    int left;
    int top;
    int width;
    int height;
};

#define cleanup_image __attribute__((cleanup(image_done)))

#endif
