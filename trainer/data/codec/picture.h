/* Reading and writing of whole pictures as files. */
#ifndef TRAINER_DATA_CODEC_PICTURE_H
#define TRAINER_DATA_CODEC_PICTURE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/jpeg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a JPEG, PNG or PNM, whatever its suffix, in full size. Errors name the file. */
int picture_read(const char *path, struct image *ret, struct error *err);

/* The same for many pictures, on one thread. Initialize with zeros. */
struct picture_reader {
    struct jpeg_decoder decoder;
    struct buf encoded;
    const char *damage; /* damage of the last picture that was decoded over: in words; NULL for
                         * none */
};

void picture_reader_done(struct picture_reader *reader);
int picture_reader_read(struct picture_reader *reader, const char *path, struct image *ret,
                        struct error *err);

/* Reads the size from the file's header; fails if it is above the limits of decoding. */
int picture_reader_size(struct picture_reader *reader, const char *path, int *ret_width,
                        int *ret_height, struct error *err);

/* Writes a PNG, or a JPEG of high quality; replaces an existing file. */
int picture_write(const struct image *image, bool png, const char *path, struct error *err);

/* Suffixes of the files that are taken for pictures, for messages. Their content tells how they are
 * decoded. */
#define PICTURE_SUFFIXES ".jpg .jpeg .jpe .jfif .png .ppm .pgm"

/* Returns true if NAME ends in one of them, in any case. */
bool picture_suffix_ends(const char *name);

/* Returns the suffix for a picture of these bytes, ".jpg" for those that are none. */
const char *picture_suffix_of(const uint8_t *bytes, size_t size);

#define cleanup_picture_reader __attribute__((cleanup(picture_reader_done)))

#endif
