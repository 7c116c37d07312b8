#include "trainer/data/codec/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A larger reduction would read more than a picture's limits allow on any side. */
enum { TAPS_MAX = 1 << 20 };

void resizer_done(struct resizer *resizer) {
    free(resizer->across.first);
    free(resizer->across.weights);
    free(resizer->down.first);
    free(resizer->down.weights);
    free(resizer->row);
    *resizer = (struct resizer){0};
}

/* Replaces OLD by at least SIZE bytes of undefined content; returns NULL without memory. */
static void *grown(void *old, size_t *capacity, size_t size) {
    if (size <= *capacity)
        return old;
    free(old);
    void *fresh = malloc(size);
    *capacity = fresh == NULL ? 0 : size;
    return fresh;
}

static int axis_reserve(struct resize_axis *axis, int places, int taps, struct error *err) {
    size_t weights = (size_t)places * (size_t)taps * sizeof(*axis->weights);
    axis->taps = taps;
    axis->first = grown(axis->first, &axis->first_capacity, (size_t)places * sizeof(*axis->first));
    axis->weights = grown(axis->weights, &axis->weights_capacity, weights);
    if (axis->first == NULL || axis->weights == NULL)
        return error_no_memory(err, "resampling");
    memset(axis->weights, 0, weights);
    return 0;
}

static double triangle(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Computes the weights of the output place with its centre at CENTER, over input places LOW ..
 * HIGH-1. The rounding error is added to the largest, so that a flat colour is preserved. */
static int place_weights(double center, double support, int low, int high, int taps,
                         int16_t *weights) {
    int begin = (int)floor(center - support + 0.5);
    int end = (int)floor(center + support + 0.5);
    begin = begin < low ? low : begin;
    end = end > high ? high : end;
    if (end <= begin) { /* a box narrower than a pixel */
        begin = begin >= high ? high - 1 : begin;
        end = begin + 1;
    }
    if (end - begin > taps)
        end = begin + taps;
    double total = 0;
    for (int i = begin; i < end; i++)
        total += triangle((i + 0.5 - center) / support);
    const int one = 1 << RESIZE_WEIGHT_BITS;
    int left = one;
    int largest = 0;
    for (int i = begin; i < end; i++) {
        double share = total > 0 ? triangle((i + 0.5 - center) / support) / total
                                 : 1.0 / (double)(end - begin);
        int weight = (int)floor(share * one + 0.5);
        weights[i - begin] = (int16_t)weight;
        left -= weight;
        if (weight > weights[largest])
            largest = i - begin;
    }
    weights[largest] = (int16_t)(weights[largest] + left);
    return begin;
}

/* Removes leading zeros, so that the passes may stop at the first weight of 0. */
static int drop_leading_zeros(int16_t *weights, int taps, int first) {
    int zeros = 0;
    while (zeros < taps - 1 && weights[zeros] == 0)
        zeros++;
    if (zeros > 0) {
        memmove(weights, weights + zeros, (size_t)(taps - zeros) * sizeof(*weights));
        memset(weights + taps - zeros, 0, (size_t)zeros * sizeof(*weights));
    }
    return first + zeros;
}

/* Makes the weights for places begin .. begin+count-1 of an axis on which LENGTH input pixels from
 * START become VIRTUAL_LENGTH. SIZE is the input's. */
static int axis_make(struct resize_axis *axis, double start, double length, int virtual_length,
                     int begin, int count, int size, struct error *err) {
    double scale = length / virtual_length;
    double support = scale > 1.0 ? scale : 1.0;
    int taps = ((int)fmin(ceil(2 * support), TAPS_MAX) + 1) / 2 * 2; /* the maximum for a place */
    int low = (int)fmax(floor(start), 0);
    int high = (int)fmin(ceil(start + length), size);
    if (high <= low)
        return error_set(err, EXIT_CODE_INTERNAL, "resampling: an empty box");
    if (axis_reserve(axis, count, taps, err) != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        int place = begin + i;
        if (place < 0 || place >= virtual_length) {
            axis->first[i] = -1;
            continue;
        }
        int16_t *weights = axis->weights + (size_t)i * (size_t)taps;
        int first = place_weights(start + (place + 0.5) * scale, support, low, high, taps, weights);
        axis->first[i] = drop_leading_zeros(weights, taps, first);
    }
    return 0;
}

int resize_window(struct resizer *resizer, const struct image *in, const struct resize_map *map,
                  uint8_t *out, struct error *err) {
    const struct rect *window = &map->window;
    struct resize_axis *across = &resizer->across;
    struct resize_axis *down = &resizer->down;
    size_t stride = (size_t)in->width * IMAGE_CHANNELS;
    if (axis_make(across, map->left, map->width, map->virtual_width, window->left, window->width,
                  in->width, err) != 0 ||
        axis_make(down, map->top, map->height, map->virtual_height, window->top, window->height,
                  in->height, err) != 0)
        return -1;
    size_t slack = (size_t)across->taps * IMAGE_CHANNELS + RESIZE_ROW_SLACK;
    resizer->row =
        grown(resizer->row, &resizer->row_capacity, (stride + slack) * sizeof(*resizer->row));
    if (resizer->row == NULL)
        return error_no_memory(err, "resampling");
    memset(resizer->row + stride, 0, slack * sizeof(*resizer->row));
    size_t out_stride = (size_t)window->width * IMAGE_CHANNELS;
    for (int y = 0; y < window->height; y++, out += out_stride) {
        if (down->first[y] < 0) {
            memset(out, 0, out_stride);
            continue;
        }
        const int16_t *weights = down->weights + (size_t)y * (size_t)down->taps;
        resize_down(image_row(in, down->first[y]), stride, weights, down->taps, stride,
                    resizer->row);
        resize_across(resizer->row, across, window->width, map->flip, out);
    }
    return 0;
}

int resize_whole(struct resizer *resizer, const struct image *in, int width, int height,
                 struct image *out, struct error *err) {
    if (image_resize(out, width, height, err) != 0)
        return -1;
    const struct resize_map map = {
        .width = in->width,
        .height = in->height,
        .virtual_width = width,
        .virtual_height = height,
        .window = {0, 0, width, height},
    };
    return resize_window(resizer, in, &map, out->pixels, err);
}

int resize_short_side(struct resizer *resizer, const struct image *in, int side, struct image *out,
                      struct error *err) {
    const int least = in->width < in->height ? in->width : in->height;
    const int width = (int)((int64_t)in->width * side / least);
    const int height = (int)((int64_t)in->height * side / least);
    return resize_whole(resizer, in, width, height, out, err);
}
