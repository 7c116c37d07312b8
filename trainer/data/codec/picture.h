/* Whole pictures from and to files. */
#ifndef CODEC_PICTURE_H
#define CODEC_PICTURE_H

#include "codec/image.h"
#include "common/error.h"

#include <stdbool.h>

/* A JPEG or PNG, whatever it is called, in full size. Errors name the file. */
int picture_read(const char *path, struct image *ret, struct error *err);
/* A PNG, or a JPEG of high quality; replaces what is there. */
int picture_write(const struct image *image, bool png, const char *path, struct error *err);

#endif
