/* Suffixes of the files that are taken for pictures. Their content tells how they are decoded. */
#ifndef TRAINER_DATA_CODEC_SUFFIX_H
#define TRAINER_DATA_CODEC_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For messages. */
#define PICTURE_SUFFIXES ".jpg .jpeg .jpe .jfif .png .ppm .pgm"

/* Returns true if NAME ends in one of them, in any case. */
bool picture_suffix_ends(const char *name);

/* Returns the suffix for a picture of these bytes, ".jpg" for those that are none. */
const char *picture_suffix_of(const uint8_t *bytes, size_t size);

#endif
