/* PNG in and out, through libpng. */
#ifndef TRAINER_DATA_CODEC_PNG_H
#define TRAINER_DATA_CODEC_PNG_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stdbool.h>
#include <stdint.h>

enum { PNG_BYTES_MAX = 1 << 30 };

/* Do these bytes begin as a PNG does? */
bool png_is(const uint8_t *bytes, size_t size);

/* The size that the head of a PNG says. */
int png_size(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height, struct error *err);

/* Decodes SIZE bytes into OUT: grey, palette and 16 bits become RGB of 8, transparency is dropped,
 * and gAMA and colour profiles are not looked at, all as Pillow's convert("RGB") does (but for 16
 * bits of grey, of which Pillow cuts off all above 255). A picture above JPEG_PIXELS_MAX pixels and
 * damage are errors with EXIT_CODE_DATA that do not name the file. */
int png_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err);

/* Appends IMAGE as an RGB PNG; OUT's ceiling bounds it. */
int png_encode(const struct image *image, struct buf *out, struct error *err);

#endif
