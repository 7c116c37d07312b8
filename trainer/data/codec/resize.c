#include "trainer/data/codec/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A larger reduction would read more than a picture's limits allow on any side. */
enum { TAPS_MAX = 1 << 20 };

static void axis_done(struct resize_axis *axis) {
    free(axis->first);
    free(axis->weights);
    free(axis->values);
}

void resizer_done(struct resizer *resizer) {
    resize_across_done(&resizer->across);
    axis_done(&resizer->columns);
    axis_done(&resizer->rows);
    free(resizer->row);
    *resizer = (struct resizer){0};
}

static int axis_reserve(struct resize_axis *axis, int places, int taps, struct error *err) {
    size_t weights = (size_t)places * (size_t)taps * sizeof(*axis->weights);
    axis->taps = taps;
    axis->first =
        resize_grown(axis->first, &axis->first_capacity, (size_t)places * sizeof(*axis->first));
    axis->weights = resize_grown(axis->weights, &axis->weights_capacity, weights);
    axis->values =
        resize_grown(axis->values, &axis->values_capacity, (size_t)taps * sizeof(*axis->values));
    if (axis->first == NULL || axis->weights == NULL || axis->values == NULL)
        return error_no_memory(err, "resampling");
    memset(axis->weights, 0, weights);
    return 0;
}

static double triangle(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Computes the weights of the output place with its centre at CENTER, over input places LOW ..
 * HIGH-1; VALUES is scratch memory of TAPS. The rounding error is added to the largest, so that a
 * flat colour is preserved. */
static int place_weights(double center, double support, int low, int high, int taps, double *values,
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
        total += values[i - begin] = triangle((i + 0.5 - center) / support);
    const int one = 1 << RESIZE_WEIGHT_BITS;
    int left = one;
    int largest = 0;
    for (int i = 0; i < end - begin; i++) {
        double share = total > 0 ? values[i] / total : 1.0 / (double)(end - begin);
        int weight = (int)(share * one + 0.5);
        weights[i] = (int16_t)weight;
        left -= weight;
        if (weight > weights[largest])
            largest = i;
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
        int first = place_weights(start + (place + 0.5) * scale, support, low, high, taps,
                                  axis->values, weights);
        axis->first[i] = drop_leading_zeros(weights, taps, first);
    }
    return 0;
}

int resize_window(struct resizer *resizer, const struct image *in, const struct resize_map *map,
                  uint8_t *out, struct error *err) {
    const struct rect *window = &map->window;
    struct resize_axis *columns = &resizer->columns;
    struct resize_axis *rows = &resizer->rows;
    const enum resize_isa isa = resize_isa_best();
    size_t stride = (size_t)in->width * IMAGE_CHANNELS;
    if (axis_make(columns, map->left, map->width, map->virtual_width, window->left, window->width,
                  in->width, err) != 0 ||
        axis_make(rows, map->top, map->height, map->virtual_height, window->top, window->height,
                  in->height, err) != 0 ||
        resize_across_prepare(&resizer->across, isa, columns, window->width, map->flip, err) != 0)
        return -1;
    size_t slack = (size_t)columns->taps * IMAGE_CHANNELS + RESIZE_ROW_SLACK;
    resizer->row = resize_grown(resizer->row, &resizer->row_capacity,
                                (stride + slack) * sizeof(*resizer->row));
    if (resizer->row == NULL)
        return error_no_memory(err, "resampling");
    memset(resizer->row + stride, 0, slack * sizeof(*resizer->row));
    size_t out_stride = (size_t)window->width * IMAGE_CHANNELS;
    for (int y = 0; y < window->height; y++, out += out_stride) {
        if (rows->first[y] < 0) {
            memset(out, 0, out_stride);
            continue;
        }
        const int16_t *weights = rows->weights + (size_t)y * (size_t)rows->taps;
        resize_down(isa, image_row(in, rows->first[y]), stride, weights, rows->taps, stride,
                    resizer->row);
        resize_across(&resizer->across, resizer->row, out);
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
