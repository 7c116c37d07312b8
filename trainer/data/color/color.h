/* Changes of colour in training.
 *
 * They are made on the u8 RGB pixels of a crop and come after the geometry (dataset/augment.h). The
 * numbers of a picture are drawn from (seed, epoch, sample) alone (color_salt.h).
 *
 *     torchvision  ColorJitter on PIL pictures: brightness, contrast, saturation and hue in
 *                  an order drawn for each picture, each rounded as PIL rounds it
 *     mxnet        mx.image's jitter of brightness, contrast and saturation by 0.4 in drawn
 *                  order, then noise along the colours' principal components with deviation
 *                  0.1 (Krizhevsky et al. 2012), in floats, rounded and clipped once
 *     tf           saturation by 0.6 to 1.4 and hue by 0.13 pi, both in YIQ, then contrast of
 *                  each channel by 0.6 to 1.4, in floats, rounded and clipped once: the AWS
 *                  Deep Learning AMI's ResNet-50. Its change of brightness, by 0.3 of 255, is
 *                  left out */
#ifndef TRAINER_DATA_COLOR_COLOR_H
#define TRAINER_DATA_COLOR_COLOR_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum color_set { COLOR_NONE, COLOR_TORCHVISION, COLOR_MXNET, COLOR_TF };
enum color_change { COLOR_BRIGHTNESS, COLOR_CONTRAST, COLOR_SATURATION, COLOR_HUE, COLOR_CHANGES };

/* Which changes, and their ranges. */
struct color_ranges {
    enum color_set set;
    double range[COLOR_CHANGES]; /* a factor from 1 - range (0 at least) to 1 + range; hue: from
                                  * -range to range of the circle, or of half of it for tf */
    double lighting;             /* deviation of the noise */
};

/* What is drawn for one picture. */
struct color_plan {
    enum color_set set;
    enum color_change order[COLOR_CHANGES];
    int count; /* of the order */
    double factor[COLOR_CHANGES];
    double offset[3]; /* the noise, R, G, B */
};

/* Parses "none", "torchvision:B,C,S,H", "mxnet" or "tf". */
int color_parse(const char *text, struct color_ranges *ret, struct error *err);

void color_draw(const struct color_ranges *color, uint64_t seed, uint32_t epoch, uint64_t sample,
                struct color_plan *ret);
/* Changes COUNT pixels in place. */
void color_render(const struct color_plan *plan, uint8_t *pixels, size_t count);

#endif
