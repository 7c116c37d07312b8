#include "trainer/data/codec/resize_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of one axis, made for each picture by resize.c. All floating-point arithmetic of the
 * resampler is here, in doubles and per place instead of per pixel; what follows is in integers. */

enum { ALIGNMENT = 64 };

/* A larger reduction would read more than a picture's limits allow on any side. */
enum { TAPS_MAX = 1 << 20 };

void *resize_grown(void *old, size_t *capacity, size_t size) {
    if (size <= *capacity)
        return old;
    free(old);
    const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *fresh = aligned_alloc(ALIGNMENT, whole);
    *capacity = fresh == NULL ? 0 : whole;
    return fresh;
}

void resize_axis_done(struct resize_axis *axis) {
    free(axis->first);
    free(axis->weights);
    free(axis->values);
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

int resize_axis_make(struct resize_axis *axis, double start, double length, int virtual_length,
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
