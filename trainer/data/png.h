/* PNG out, through libpng. */
#ifndef DATA_PNG_H
#define DATA_PNG_H

#include "common/buf.h"
#include "common/error.h"
#include "data/image.h"

enum { PNG_BYTES_MAX = 1 << 30 };

/* Appends IMAGE as an RGB PNG; OUT's ceiling bounds it. */
int png_encode(const struct image *image, struct buf *out, struct error *err);

#endif
