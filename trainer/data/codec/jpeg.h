/* JPEG in and out through libjpeg-turbo.
 *
 * A decoder is used by one thread, for any number of files. Opening reads the header, so that the
 * caller can choose a crop from the picture's size; decoding then does the work for that crop
 * alone: rows above and below are skipped, columns left and right are not transformed, and a crop
 * far larger than needed is shrunk by 2, 4 or 8 inside the inverse DCT.
 *
 * A picture depends on its bytes alone: tables of the file before are forgotten. A file without
 * Huffman tables (a frame of Motion JPEG) is read with the standard ones (ITU-T T.81, annex K.3),
 * one without quantization tables is refused.
 *
 * Gray pictures become RGB. CMYK and YCCK are taken as inverted (255 is no ink), with Adobe's
 * marker and without, and become RGB by Pillow's formula. Refused with EXIT_CODE_DATA: what is no
 * JPEG, a picture above the limits (a hostile header costs nothing), a file that ends before its
 * end-of-image marker ("truncated"), too many scans. Damage that the library can decode over is
 * counted and told; of a crop, as far down as it reaches. The orientation tag is not looked at, as
 * in torchvision's ImageFolder. Errors do not name the file: the caller knows it. */
#ifndef TRAINER_DATA_CODEC_JPEG_H
#define TRAINER_DATA_CODEC_JPEG_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stddef.h>
#include <stdint.h>

enum {
    JPEG_PIXELS_MAX = 178956970,         /* most pixels of a picture, 0.5 GiB as RGB */
    JPEG_MEMORY_MAX = 512 * 1024 * 1024, /* most that the library may keep for one picture */
    JPEG_SCANS_MAX = 256,                /* of a progressive file; ordinary ones have ten */
    JPEG_BYTES_MAX = 256 * 1024 * 1024,  /* of a file */
};

struct jpeg_library; /* libjpeg's state, seen by jpeg.c alone */

struct jpeg_decoder {
    struct jpeg_library *library; /* owned */
    int width;                    /* of the open picture */
    int height;
    int warnings;       /* damage of this picture that was decoded over */
    const char *damage; /* the first of it in libjpeg's words, NULL for none; until the next one */
};

int jpeg_decoder_init(struct jpeg_decoder *decoder, struct error *err);
void jpeg_decoder_done(struct jpeg_decoder *decoder);

/* Reads the header of SIZE bytes, which must stay until the decode. Fills width and height. */
int jpeg_open(struct jpeg_decoder *decoder, const uint8_t *bytes, size_t size, struct error *err);

/* Decodes at least REGION (within the picture) at 1/SHRINK of its size (1, 2, 4 or 8) into OUT.
 * *RET_AT says where OUT lies, in pixels of the shrunk picture; it covers REGION and, because of
 * the blocks, a little more. Once an open picture. */
int jpeg_decode(struct jpeg_decoder *decoder, const struct rect *region, int shrink,
                struct image *out, struct rect *ret_at, struct error *err);

/* Appends IMAGE as a baseline JPEG (4:2:0, quality 1..100). */
int jpeg_encode(const struct image *image, int quality, struct buf *out, struct error *err);

#define cleanup_jpeg_decoder __attribute__((cleanup(jpeg_decoder_done)))

#endif
