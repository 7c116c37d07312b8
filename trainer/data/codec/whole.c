#include "trainer/data/codec/whole.h"

#include "trainer/data/codec/png.h"
#include "trainer/data/codec/pnm.h"

#include <stdbool.h>

struct whole_format {
    bool (*is)(const uint8_t *bytes, size_t size);
    int (*size)(const uint8_t *bytes, size_t size, int *ret_width, int *ret_height,
                struct error *err);
    int (*decode)(const uint8_t *bytes, size_t size, struct image *out, struct error *err);
};

static const struct whole_format FORMATS[] = {
    {png_is, png_size, png_decode},
    {pnm_is, pnm_size, pnm_decode},
};

const struct whole_format *whole_format_of(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++)
        if (FORMATS[i].is(bytes, size))
            return &FORMATS[i];
    return NULL;
}

int whole_size(const struct whole_format *format, const uint8_t *bytes, size_t size, int *ret_width,
               int *ret_height, struct error *err) {
    return format->size(bytes, size, ret_width, ret_height, err);
}

int whole_decode(const struct whole_format *format, const uint8_t *bytes, size_t size,
                 struct image *out, struct error *err) {
    return format->decode(bytes, size, out, err);
}
