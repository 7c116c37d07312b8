/* Raw pictures as binary PNM files: a header in text, then the pixels. P6 is RGB, P5 is grey.
 *
 * Only 8 bits a channel, "maxval" 255, are read. Bytes after the pixels do not count, as to Pillow.
 * Source: netpbm.sourceforge.net/doc, ppm(5) and pgm(5). */
#ifndef TRAINER_DATA_CODEC_PNM_H
#define TRAINER_DATA_CODEC_PNM_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum number of bytes of the header that pnm_header() writes. */
enum { PNM_HEADER_MAX = 40 };

/* Returns true if the bytes begin like a binary PNM of grey or RGB. */
bool pnm_is(const uint8_t *bytes, size_t size);

/* Reads the size from the header. */
int pnm_size(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height, struct error *err);

/* Decodes SIZE bytes into OUT; grey becomes RGB. Damage, or more than JPEG_PIXELS_MAX pixels, is an
 * error with EXIT_CODE_DATA that does not name the file. */
int pnm_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err);

/* Writes the header of a picture, without its pixels, and returns the number of bytes. */
size_t pnm_header(char ret[PNM_HEADER_MAX], bool grey, int width, int height);

/* Appends IMAGE as a P6; OUT's limit bounds it. */
int pnm_encode(const struct image *image, struct buf *out, struct error *err);

#endif
