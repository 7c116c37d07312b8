/* The two passes of a resampling, for one row of the result. Each has versions with the same bits:
 * plain C, and vectors of SSE2, AVX2 and AVX-512. */
#ifndef TRAINER_DATA_CODEC_RESIZE_ROWS_H
#define TRAINER_DATA_CODEC_RESIZE_ROWS_H

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

/* Returns the last one that the processor has. */
enum resize_isa resize_isa_best(void);

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

/* OUT[i] = sum of ROWS[k][i] x WEIGHTS[k] for i < SIZE, k < TAPS (even). Rows are STRIDE bytes
 * apart; rows with weight 0 are not read. The processor must have ISA. */
void resize_down(enum resize_isa isa, const uint8_t *first, size_t stride, const int16_t *weights,
                 int taps, size_t size, int16_t *out);

/* Prepares rows of COUNT pixels by AXIS, mirrored if FLIP. AXIS must stay as it is until the last
 * of them. The processor must have ISA; an axis with a scale too large for its version uses the
 * one before. */
int resize_across_prepare(struct resize_across *across, enum resize_isa isa,
                          const struct resize_axis *axis, int count, bool flip, struct error *err);
void resize_across_done(struct resize_across *across);

/* Computes one row from ROW. Weights of 0 may refer to values after the row: it must be followed
 * by taps x 3 + RESIZE_ROW_SLACK zeros. */
void resize_across(const struct resize_across *across, const int16_t *row, uint8_t *out);

#endif
