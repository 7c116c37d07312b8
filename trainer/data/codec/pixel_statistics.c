#include "trainer/data/codec/pixel_statistics.h"

#include <math.h>

enum { UNIT = 65536, FULL = 255 };

void pixel_statistics_add(struct pixel_statistics *s, const struct image *image) {
    uint64_t sum[IMAGE_CHANNELS] = {0};
    uint64_t square[IMAGE_CHANNELS] = {0};
    const size_t pixels = (size_t)image->width * (size_t)image->height;
    if (pixels == 0)
        return;
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < IMAGE_CHANNELS; c++) {
            const uint64_t value = image->pixels[i * IMAGE_CHANNELS + c];
            sum[c] += value;
            square[c] += value * value;
        }
    s->pictures += 1;
    for (size_t c = 0; c < IMAGE_CHANNELS; c++) {
        s->sum[c] += rint((double)sum[c] / (double)pixels * UNIT);
        s->square[c] += rint((double)square[c] / (double)pixels * UNIT);
    }
}

void pixel_statistics_merge(struct pixel_statistics *s, const struct pixel_statistics *other) {
    s->pictures += other->pictures;
    for (size_t c = 0; c < IMAGE_CHANNELS; c++) {
        s->sum[c] += other->sum[c];
        s->square[c] += other->square[c];
    }
}

void pixel_statistics_result(const struct pixel_statistics *s, double mean[IMAGE_CHANNELS],
                             double deviation[IMAGE_CHANNELS]) {
    for (size_t c = 0; c < IMAGE_CHANNELS; c++) {
        const double weight = s->pictures > 0 ? 1 / (s->pictures * UNIT) : 0;
        const double middle = s->sum[c] * weight;
        const double variance = s->square[c] * weight - middle * middle;
        mean[c] = middle / FULL;
        deviation[c] = variance > 0 ? sqrt(variance) / FULL : 0;
    }
}
