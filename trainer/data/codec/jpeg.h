/* JPEG decoder and encoder, based on libjpeg-turbo.
 *
 * A decoder belongs to one thread and can be used for any number of files. Opening reads the
 * header, so that the caller can choose a crop from the picture's size; decoding then does the
 * work for that crop only: rows above and below are skipped, columns left and right are not
 * transformed, and a crop far larger than needed is reduced by 2, 4 or 8 inside the inverse DCT.
 *
 * A picture depends on its bytes alone: tables of the previous file are discarded. A file without
 * Huffman tables (a frame of Motion JPEG) is read with the standard ones (ITU-T T.81, annex K.3),
 * one without quantization tables is refused.
 *
 * Gray pictures become RGB. CMYK and YCCK are assumed to be inverted (255 is no ink), with Adobe's
 * marker and without, and become RGB by Pillow's formula. Refused with EXIT_CODE_DATA: files that
 * are not JPEG, pictures above the limits (a hostile header costs nothing), files that end before
 * the end-of-image marker ("truncated"), too many scans. Damage that the library can decode over
 * is counted and reported; for a crop, only as far down as it reaches. The orientation tag is
 * ignored, as by torchvision's ImageFolder. Errors do not name the file: the caller knows it. */
#ifndef TRAINER_DATA_CODEC_JPEG_H
#define TRAINER_DATA_CODEC_JPEG_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stddef.h>
#include <stdint.h>

enum {
    JPEG_PIXELS_MAX = 178956970,         /* most pixels of a picture, 0.5 GiB as RGB */
    JPEG_MEMORY_MAX = 512 * 1024 * 1024, /* most memory that the library may use for one picture */
    JPEG_SCANS_MAX = 256,                /* of a progressive file; usual ones have ten */
    JPEG_BYTES_MAX = 256 * 1024 * 1024,  /* of a file */
};

struct jpeg_library; /* libjpeg's state, seen by jpeg.c alone */

struct jpeg_decoder {
    struct jpeg_library *library; /* owned */
    int width;                    /* of the open picture */
    int height;
    int warnings;       /* damage of this picture that was decoded over */
    const char *damage; /* the first of it in libjpeg's words, or NULL; valid until the next one */
};

int jpeg_decoder_init(struct jpeg_decoder *decoder, struct error *err);
void jpeg_decoder_done(struct jpeg_decoder *decoder);

/* Reads the header of SIZE bytes, which must stay valid until decoding. Fills width and height. */
int jpeg_open(struct jpeg_decoder *decoder, const uint8_t *bytes, size_t size, struct error *err);

/* Decodes at least REGION (within the picture) at 1/SHRINK of its size (1, 2, 4 or 8) into OUT.
 * *RET_AT is the position of OUT, in pixels of the reduced picture; because of the blocks it
 * covers a little more than REGION. Call it once for each opened picture. */
int jpeg_decode(struct jpeg_decoder *decoder, const struct rect *region, int shrink,
                struct image *out, struct rect *ret_at, struct error *err);

/* Appends IMAGE as a baseline JPEG (4:2:0, quality 1..100). */
int jpeg_encode(const struct image *image, int quality, struct buf *out, struct error *err);

#define cleanup_jpeg_decoder __attribute__((cleanup(jpeg_decoder_done)))

#endif
