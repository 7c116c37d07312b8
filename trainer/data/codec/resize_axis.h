/* An axis of a resampling: its weights, and the same in the order in which vectors take them
 * (resize_rows.h). */
#ifndef TRAINER_DATA_CODEC_RESIZE_AXIS_H
#define TRAINER_DATA_CODEC_RESIZE_AXIS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESIZE_WEIGHT_BITS = 14,
    RESIZE_BETWEEN_BITS = 7, /* fractional bits between the passes */
    RESIZE_ROW_SLACK = 64,   /* values that a vector may read after the last weight's */
};

enum resize_isa { RESIZE_PLAIN, RESIZE_SSE2, RESIZE_AVX2, RESIZE_AVX512 };

/* Weights along one axis, for each place of the window. */
struct resize_axis {
    int taps;         /* number for each place, even; unused ones are 0 */
    int *first;       /* owned; input place of the first tap, -1 for black */
    int16_t *weights; /* owned; [places][taps] */
    double *values;   /* owned; the filter at the taps of one place */
    size_t first_capacity;
    size_t weights_capacity;
    size_t values_capacity;
};

/* Makes the weights for places BEGIN .. BEGIN+COUNT-1 of an axis on which LENGTH input pixels from
 * START become VIRTUAL_LENGTH. SIZE is the input's. */
int resize_axis_make(struct resize_axis *axis, double start, double length, int virtual_length,
                     int begin, int count, int size, struct error *err);
void resize_axis_done(struct resize_axis *axis);

/* An axis in the order in which vectors take it. Initialize with zeros. */
struct resize_across {
    const struct resize_axis *axis;
    int count; /* places */
    bool flip;
    enum resize_isa isa;
    int inputs; /* AVX-512: registers of input that a group of places needs */
    int *first; /* owned; value of the row: for AVX2 of each place, for AVX-512 of each group */
    int16_t *vectors; /* owned; weights of groups, for AVX-512 each after its permutation */
    size_t first_capacity;
    size_t vectors_capacity;
};

/* Replaces OLD by at least SIZE bytes of undefined content, aligned for vectors; returns NULL
 * without memory. */
void *resize_grown(void *old, size_t *capacity, size_t size);

#endif
