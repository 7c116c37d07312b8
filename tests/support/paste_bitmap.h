/* Rules of mask_paste.h, pixel by pixel into a bitmap.
 *
 * They are written down once more here, without spans, tables or runs. */
#ifndef TESTS_SUPPORT_PASTE_BITMAP_H
#define TESTS_SUPPORT_PASTE_BITMAP_H

#include "trainer/eval/mask_paste.h"

#include <math.h>
#include <stdbool.h>

/* Probability at (y, x) of the square, 0 in the ring around it. */
static inline float paste_probability(const struct mask_paste *paste, int y, int x) {
    if (y < 0 || x < 0 || y >= paste->side || x >= paste->side)
        return 0;
    return 1 / (1 + expf(-paste->logits[y * paste->side + x]));
}

/* The value at source place (Y, X), in squares' pixels. */
static inline float paste_bilinear(const struct mask_paste *paste, int y, float wy, int x,
                                   float wx) {
    float top = (1 - wx) * paste_probability(paste, y, x) + wx * paste_probability(paste, y, x + 1);
    float bottom =
        (1 - wx) * paste_probability(paste, y + 1, x) + wx * paste_probability(paste, y + 1, x + 1);
    return (1 - wy) * top + wy * bottom;
}

/* Torchvision: where pixel PLACE lies in the square with its ring; false outside of the box. */
static inline bool paste_place_tv(float low, float high, int side, int64_t place, int *ret_place,
                                  float *ret_weight) {
    float growth = (float)(((double)side + 2) / side), half = (high - low) * 0.5f;
    half *= growth;
    int64_t first = (int64_t)((high + low) * 0.5f - half);
    int64_t last = (int64_t)((high + low) * 0.5f + half);
    if (place < first || place > last)
        return false;
    float scale = (float)(side + 2) / (float)(last - first + 1);
    float source = fmaxf(scale * ((float)(place - first) + 0.5f) - 0.5f, 0);
    float floor = fminf(floorf(source), (float)(side + 1));
    *ret_place = (int)floor - 1;
    *ret_weight = fminf(source - floor, 1);
    return true;
}

static inline bool paste_place_d2(float low, float high, int side, int64_t place, int *ret_place,
                                  float *ret_weight) {
    float part = ((float)place + 0.5f - low) / (high - low) * 2 - 1;
    float source = ((part + 1) * (float)side - 1) / 2;
    if (!(high > low) || !(source > -1) || !(source < (float)side))
        return false;
    *ret_place = (int)floorf(source);
    *ret_weight = source - floorf(source);
    return true;
}

static inline bool paste_pixel(const struct mask_paste *paste, int64_t y, int64_t x) {
    const float *box = paste->box;
    int py = 0, px = 0;
    float wy = 0, wx = 0;
    for (int i = 0; i < 4; i++)
        if (!(fabsf(box[i]) <= MASK_PASTE_REACH))
            return false;
    if (paste->rule == MASK_PASTE_TV)
        return paste_place_tv(box[0], box[2], paste->side, x, &px, &wx) &&
               paste_place_tv(box[1], box[3], paste->side, y, &py, &wy) &&
               paste_bilinear(paste, py, wy, px, wx) > 0.5f;
    return paste_place_d2(box[0], box[2], paste->side, x, &px, &wx) &&
           paste_place_d2(box[1], box[3], paste->side, y, &py, &wy) &&
           paste_bilinear(paste, py, wy, px, wx) >= 0.5f;
}

/* BYTES has height x width of them, rows first. */
static inline void paste_bitmap(const struct mask_paste *paste, uint8_t *bytes) {
    for (uint32_t y = 0; y < paste->height; y++)
        for (uint32_t x = 0; x < paste->width; x++)
            bytes[(size_t)y * paste->width + x] = paste_pixel(paste, y, x);
}

#endif
