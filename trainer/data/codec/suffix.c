#include "trainer/data/codec/suffix.h"

#include "trainer/data/codec/png.h"
#include "trainer/data/codec/pnm.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool picture_suffix_ends(const char *name) {
    static const char *const suffixes[] = {".jpg", ".jpeg", ".jpe", ".jfif",
                                           ".png", ".ppm",  ".pgm"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcasecmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

const char *picture_suffix_of(const uint8_t *bytes, size_t size) {
    if (png_is(bytes, size))
        return ".png";
    return pnm_is(bytes, size) ? ".ppm" : ".jpg";
}
