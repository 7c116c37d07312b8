/* Changes of colour with the arithmetic of PIL: blends that are cut to whole numbers, grey in fixed
 * point of 16 bits, HSV of eight bits. */
#include "trainer/data/color/color_change.h"

#include <math.h>

static uint8_t cut(float value) {
    if (value <= 0)
        return 0;
    return value >= 255 ? 255 : (uint8_t)value;
}

/* FROM, and on to TO as FACTOR goes from 0 to 1 and beyond. */
static uint8_t blend(uint8_t from, uint8_t to, float factor) {
    return cut((float)((int)from) + factor * (float)((int)to - (int)from));
}

static uint8_t grey_of(const uint8_t *p) {
    return (uint8_t)((p[0] * 19595U + p[1] * 38470U + p[2] * 7471U + 0x8000U) >> 16);
}

void color_pil_brightness(double factor, uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < 3 * count; i++)
        pixels[i] = blend(0, pixels[i], (float)factor);
}

void color_pil_contrast(double factor, uint8_t *pixels, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += grey_of(pixels + 3 * i);
    const uint8_t mean = count > 0 ? (uint8_t)((double)sum / (double)count + 0.5) : 0;
    for (size_t i = 0; i < 3 * count; i++)
        pixels[i] = blend(mean, pixels[i], (float)factor);
}

void color_pil_saturation(double factor, uint8_t *pixels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t *p = pixels + 3 * i, grey = grey_of(p);
        for (int c = 0; c < 3; c++)
            p[c] = blend(grey, p[c], (float)factor);
    }
}

struct hsv {
    uint8_t h, s, v;
};

static uint8_t least(uint8_t a, uint8_t b) {
    return a < b ? a : b;
}

static uint8_t most(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

static struct hsv hsv_of(const uint8_t *p) {
    const uint8_t r = p[0], g = p[1], b = p[2];
    const uint8_t max = most(r, most(g, b)), min = least(r, least(g, b));
    if (max == min)
        return (struct hsv){0, 0, max};
    const float range = (float)(max - min), s = range / (float)max;
    const float red = (float)(max - r) / range, green = (float)(max - g) / range;
    const float blue = (float)(max - b) / range;
    float h;
    if (r == max)
        h = blue - green;
    else if (g == max)
        h = (float)(2.0 + (double)red - (double)blue);
    else
        h = (float)(4.0 + (double)green - (double)red);
    h = (float)fmod((double)h / 6.0 + 1.0, 1.0);
    return (struct hsv){(uint8_t)((double)h * 255.0), (uint8_t)((double)s * 255.0), max};
}

static void rgb_of(struct hsv x, uint8_t *p) {
    if (x.s == 0) {
        p[0] = p[1] = p[2] = x.v;
        return;
    }
    const double turn = (double)x.h * 6.0 / 255.0;
    const int sector = (int)floor(turn);
    const float f = (float)(turn - sector), fs = (float)((double)x.s / 255.0), v = (float)x.v;
    const uint8_t a = (uint8_t)round((double)v * (1.0 - (double)fs));
    const uint8_t q = (uint8_t)round((double)v * (1.0 - (double)fs * (double)f));
    const uint8_t t = (uint8_t)round((double)v * (1.0 - (double)fs * (1.0 - (double)f)));
    const uint8_t all[6][3] = {{x.v, t, a}, {q, x.v, a}, {a, x.v, t},
                               {a, q, x.v}, {t, a, x.v}, {x.v, a, q}};
    for (int c = 0; c < 3; c++)
        p[c] = all[sector % 6][c];
}

void color_pil_hue(double shift, uint8_t *pixels, size_t count) {
    const uint8_t turned = (uint8_t)(int)(shift * 255);
    for (size_t i = 0; i < count; i++) {
        struct hsv x = hsv_of(pixels + 3 * i);
        x.h = (uint8_t)(x.h + turned);
        rgb_of(x, pixels + 3 * i);
    }
}
