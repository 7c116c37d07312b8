/* Pictures that are always decoded whole: PNG and PNM. JPEG, of which a part can be decoded, is in
 * jpeg.h. The content tells the format, whatever the suffix of the file. */
#ifndef TRAINER_DATA_CODEC_WHOLE_H
#define TRAINER_DATA_CODEC_WHOLE_H

#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stddef.h>
#include <stdint.h>

struct whole_format;

/* Returns the format of a picture by its first bytes; NULL: none of these. */
const struct whole_format *whole_format_of(const uint8_t *bytes, size_t size);

/* Reads the size from the header. */
int whole_size(const struct whole_format *format, const uint8_t *bytes, size_t size, int *ret_width,
               int *ret_height, struct error *err);

/* Decodes into OUT. Damage is an error with EXIT_CODE_DATA that does not name the file. */
int whole_decode(const struct whole_format *format, const uint8_t *bytes, size_t size,
                 struct image *out, struct error *err);

#endif
