/* Affine maps of colours. Grey is 0.299 R + 0.587 G + 0.114 B, as in MXNet and TensorFlow. */
#include "trainer/data/color/color_change.h"

#include <math.h>
#include <string.h>

static const double GREY[3] = {0.299, 0.587, 0.114};

struct color_affine color_affine_identity(const uint8_t *pixels, size_t count) {
    struct color_affine a = {.matrix = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    uint64_t sums[3] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < 3; c++)
            sums[c] += pixels[3 * i + c];
    for (int c = 0; c < 3; c++)
        a.mean[c] = count > 0 ? (double)sums[c] / (double)count : 0;
    return a;
}

/* The channels' means after what the map does so far. */
static void means_now(const struct color_affine *a, double ret[3]) {
    for (int r = 0; r < 3; r++)
        ret[r] = a->matrix[r][0] * a->mean[0] + a->matrix[r][1] * a->mean[1] +
                 a->matrix[r][2] * a->mean[2] + a->offset[r];
}

/* The map becomes NEXT after itself. */
static void follow(struct color_affine *a, double next[3][3]) {
    double matrix[3][3], offset[3];
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++)
            matrix[r][c] = next[r][0] * a->matrix[0][c] + next[r][1] * a->matrix[1][c] +
                           next[r][2] * a->matrix[2][c];
        offset[r] =
            next[r][0] * a->offset[0] + next[r][1] * a->offset[1] + next[r][2] * a->offset[2];
    }
    memcpy(a->matrix, matrix, sizeof(matrix));
    memcpy(a->offset, offset, sizeof(offset));
}

void color_affine_scale(struct color_affine *a, double factor) {
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++)
            a->matrix[r][c] *= factor;
        a->offset[r] *= factor;
    }
}

void color_affine_contrast(struct color_affine *a, double factor) {
    double now[3];
    means_now(a, now);
    const double grey = GREY[0] * now[0] + GREY[1] * now[1] + GREY[2] * now[2];
    color_affine_scale(a, factor);
    for (int c = 0; c < 3; c++)
        a->offset[c] += (1 - factor) * grey;
}

void color_affine_channels(struct color_affine *a, double factor) {
    double now[3];
    means_now(a, now);
    color_affine_scale(a, factor);
    for (int c = 0; c < 3; c++)
        a->offset[c] += (1 - factor) * now[c];
}

void color_affine_saturation(struct color_affine *a, double factor) {
    double next[3][3];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            next[r][c] = (r == c ? factor : 0) + (1 - factor) * GREY[c];
    follow(a, next);
}

void color_affine_yiq(struct color_affine *a, double factor, double angle) {
    double to_yiq[3][3] = {{0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}};
    double to_rgb[3][3] = {{1, 0.956, 0.621}, {1, -0.272, -0.647}, {1, -1.107, 1.705}};
    const double u = factor * cos(angle), w = factor * sin(angle);
    double turn[3][3] = {{1, 0, 0}, {0, u, -w}, {0, w, u}};
    follow(a, to_yiq);
    follow(a, turn);
    follow(a, to_rgb);
}

static uint8_t rounded(float value) {
    if (!(value > 0))
        return 0;
    return value >= 255 ? 255 : (uint8_t)(value + 0.5F);
}

void color_affine_apply(const struct color_affine *a, uint8_t *pixels, size_t count) {
    float m[3][3], offset[3];
    for (int r = 0; r < 3; r++) {
        offset[r] = (float)a->offset[r];
        for (int c = 0; c < 3; c++)
            m[r][c] = (float)a->matrix[r][c];
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t *p = pixels + 3 * i;
        const float x[3] = {p[0], p[1], p[2]};
        for (int r = 0; r < 3; r++)
            p[r] = rounded(m[r][0] * x[0] + m[r][1] * x[1] + m[r][2] * x[2] + offset[r]);
    }
}
