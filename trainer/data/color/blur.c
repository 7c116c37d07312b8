#include "trainer/data/color/blur.h"

#include "common/str.h"
#include "trainer/data/color/color_salt.h"
#include "trainer/math/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, WORD_SIZE = 32 };

static int refuse(const char *text, struct error *err) {
    return error_set(err, EXIT_CODE_USAGE,
                     "--blur: '%.64s' is not none or KERNEL:MIN,MAX: an odd size from 3 to %d, and "
                     "the range of the standard deviation from 0.01 to 100",
                     text, BLUR_KERNEL_MAX);
}

/* Copies the part of TEXT before its first END; returns the rest after it, or NULL. */
static const char *word_before(const char *text, char end, char ret[WORD_SIZE]) {
    const char *found = strchr(text, end);
    if (found == NULL || found - text >= WORD_SIZE)
        return NULL;
    memcpy(ret, text, (size_t)(found - text));
    ret[found - text] = '\0';
    return found + 1;
}

int blur_parse(const char *text, struct blur *ret, struct error *err) {
    char kernel[WORD_SIZE], low[WORD_SIZE];
    int64_t size;
    *ret = (struct blur){0};
    if (strcmp(text, "none") == 0)
        return 0;
    const char *rest = word_before(text, ':', kernel);
    const char *high = rest != NULL ? word_before(rest, ',', low) : NULL;
    if (high == NULL || str_parse_int(kernel, 3, BLUR_KERNEL_MAX, &size, NULL) != 0 ||
        size % 2 == 0 || str_parse_double(low, 0.01, 100, &ret->low, NULL) != 0 ||
        str_parse_double(high, ret->low, 100, &ret->high, NULL) != 0)
        return refuse(text, err);
    ret->kernel = (int)size;
    return 0;
}

double blur_draw(const struct blur *blur, uint64_t seed, uint32_t epoch, uint64_t sample) {
    if (blur->kernel == 0)
        return 0;
    struct random random = color_stream(seed, epoch, sample, SALT_BLUR);
    return random_between(&random, blur->low, blur->high);
}

static void fill_weights(float *weights, int kernel, double deviation) {
    const int radius = kernel / 2;
    double values[BLUR_KERNEL_MAX], sum = 0;
    for (int i = 0; i < kernel; i++) {
        const double x = (i - radius) / deviation;
        values[i] = exp(-0.5 * x * x);
        sum += values[i];
    }
    for (int i = 0; i < kernel; i++)
        weights[i] = (float)(values[i] / sum);
}

/* Returns the place in 0 .. COUNT - 1 that AT is the mirror image of; the border is not repeated.
 */
static int reflect(int at, int count) {
    const int period = 2 * (count - 1);
    if (period == 0)
        return 0;
    at = abs(at) % period;
    return at < count ? at : period - at;
}

/* What one picture takes: a row with its borders, and the last rows after the first pass. */
struct passes {
    int width, height, kernel;
    float weights[BLUR_KERNEL_MAX];
    float *padded, *rows, *sum; /* one owned allocation */
};

/* First pass, along row Y, into its place among the last rows. */
static void pass_along(struct passes *p, const uint8_t *pixels, int y) {
    const int radius = p->kernel / 2, size = p->width * CHANNELS;
    const uint8_t *row = pixels + (size_t)y * (size_t)size;
    float *to = p->rows + (size_t)(y % p->kernel) * (size_t)size;
    for (int x = -radius; x < p->width + radius; x++)
        for (int c = 0; c < CHANNELS; c++)
            p->padded[(x + radius) * CHANNELS + c] = row[reflect(x, p->width) * CHANNELS + c];
    for (int i = 0; i < size; i++)
        to[i] = 0;
    for (int k = 0; k < p->kernel; k++)
        for (int i = 0; i < size; i++)
            to[i] += p->weights[k] * p->padded[i + k * CHANNELS];
}

/* Second pass, down to row Y of the result. All rows that it needs lie within a radius of Y. */
static void pass_down(struct passes *p, uint8_t *pixels, int y) {
    const int radius = p->kernel / 2, size = p->width * CHANNELS;
    uint8_t *row = pixels + (size_t)y * (size_t)size;
    for (int i = 0; i < size; i++)
        p->sum[i] = 0;
    for (int k = 0; k < p->kernel; k++) {
        const int from = reflect(y + k - radius, p->height);
        const float *of = p->rows + (size_t)(from % p->kernel) * (size_t)size;
        for (int i = 0; i < size; i++)
            p->sum[i] += p->weights[k] * of[i];
    }
    for (int i = 0; i < size; i++)
        row[i] = (uint8_t)lrintf(p->sum[i]);
}

int blur_render(const struct blur *blur, double deviation, uint8_t *pixels, int width, int height,
                struct error *err) {
    if (blur->kernel == 0)
        return 0;
    struct passes p = {.width = width, .height = height, .kernel = blur->kernel};
    const int radius = blur->kernel / 2;
    const size_t row = (size_t)width * CHANNELS;
    const size_t border = (size_t)radius * 2 * CHANNELS;
    p.padded = malloc((row * (size_t)(blur->kernel + 2) + border) * sizeof(float));
    if (p.padded == NULL)
        return error_no_memory(err, "blurring a picture");
    p.sum = p.padded + row + border;
    p.rows = p.sum + row;
    fill_weights(p.weights, blur->kernel, deviation);
    for (int y = 0, read = 0; y < height; y++) {
        for (; read < height && read <= y + radius; read++)
            pass_along(&p, pixels, read);
        pass_down(&p, pixels, y);
    }
    free(p.padded);
    return 0;
}
