#include "trainer/data/codec/suffix.h"

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
