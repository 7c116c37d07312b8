/* Gaussian blur of training pictures, torchvision's GaussianBlur: a square kernel of odd size, a
 * standard deviation drawn for each picture, borders that are reflected, floats that are rounded
 * to the nearest once. It comes last, after the changes of colour.
 *
 * The deviation of a picture is drawn from (seed, epoch, sample) alone. */
#ifndef TRAINER_DATA_COLOR_BLUR_H
#define TRAINER_DATA_COLOR_BLUR_H

#include "common/error.h"

#include <stdint.h>

enum { BLUR_KERNEL_MAX = 63 };

struct blur {
    int kernel;       /* side of the kernel, odd; 0: no blur */
    double low, high; /* of the deviation, in pixels */
};

/* Parses "none" or "KERNEL:MIN,MAX". */
int blur_parse(const char *text, struct blur *ret, struct error *err);

/* Returns the deviation for a picture; 0 without blur. */
double blur_draw(const struct blur *blur, uint64_t seed, uint32_t epoch, uint64_t sample);
/* Changes WIDTH x HEIGHT pixels of u8 RGB in place. Fails where memory is short. */
int blur_render(const struct blur *blur, double deviation, uint8_t *pixels, int width, int height,
                struct error *err);

#endif
