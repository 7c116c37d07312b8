/* The two passes of a resampling, for one row of the result. Both have versions with the same
 * bits: plain C, and vectors for SSE2 and AVX2 if the processor has them. */
#ifndef TRAINER_DATA_CODEC_RESIZE_ROWS_H
#define TRAINER_DATA_CODEC_RESIZE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESIZE_WEIGHT_BITS = 14,
    RESIZE_BETWEEN_BITS = 7, /* fractional bits between the passes */
    RESIZE_ROW_SLACK = 8,    /* values that a vector may read after the last weight's */
};

/* Weights along one axis, for each place of the window. */
struct resize_axis {
    int taps;         /* number for each place, even; unused ones are 0 */
    int *first;       /* owned; input place of the first tap, -1 for black */
    int16_t *weights; /* owned; [places][taps] */
    size_t first_capacity;
    size_t weights_capacity;
};

/* OUT[i] = sum of ROWS[k][i] x WEIGHTS[k] for i < SIZE, k < TAPS (even). Rows are STRIDE bytes
 * apart; rows with weight 0 are not read. */
void resize_down(const uint8_t *first, size_t stride, const int16_t *weights, int taps, size_t size,
                 int16_t *out);
void resize_down_plain(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                       size_t size, int16_t *out);

/* Computes one row of COUNT pixels from ROW by AXIS, mirrored if FLIP. Weights of 0 may refer to
 * values after the row: it must be followed by AXIS->taps x 3 + RESIZE_ROW_SLACK zeros. */
void resize_across(const int16_t *row, const struct resize_axis *axis, int count, bool flip,
                   uint8_t *out);
void resize_across_plain(const int16_t *row, const struct resize_axis *axis, int count, bool flip,
                         uint8_t *out);

#endif
