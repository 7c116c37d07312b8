/* PNG decoder and encoder, based on libpng. */
#ifndef TRAINER_DATA_CODEC_PNG_H
#define TRAINER_DATA_CODEC_PNG_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stdbool.h>
#include <stdint.h>

enum { PNG_BYTES_MAX = 1 << 30 };

/* Returns true if the bytes begin like a PNG. */
bool png_is(const uint8_t *bytes, size_t size);

/* Reads the size from the header of a PNG. */
int png_size(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height, struct error *err);

/* Decodes SIZE bytes into OUT: grey, palette and 16 bits become RGB of 8, transparency is dropped,
 * gAMA and colour profiles are ignored, all as by Pillow's convert("RGB") (except for 16 bits of
 * grey, where Pillow clips all values above 255). Damage, or more than JPEG_PIXELS_MAX pixels, is
 * an error with EXIT_CODE_DATA that does not name the file. */
int png_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err);

/* Appends IMAGE as an RGB PNG; OUT's limit bounds it. */
int png_encode(const struct image *image, struct buf *out, struct error *err);

#endif
