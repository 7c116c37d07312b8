/* Suffixes of the files that are taken for pictures. Their content tells how they are decoded. */
#ifndef TRAINER_DATA_CODEC_SUFFIX_H
#define TRAINER_DATA_CODEC_SUFFIX_H

#include <stdbool.h>

/* For messages. */
#define PICTURE_SUFFIXES ".jpg .jpeg .jpe .jfif .png .ppm .pgm"

/* Returns true if NAME ends in one of them, in any case. */
bool picture_suffix_ends(const char *name);

#endif
