/* The two passes of a resampling, for one row of the result. Each has versions with the same bits:
 * plain C, and vectors of SSE2, AVX2 and AVX-512. */
#ifndef TRAINER_DATA_CODEC_RESIZE_ROWS_H
#define TRAINER_DATA_CODEC_RESIZE_ROWS_H

#include "common/error.h"
#include "trainer/data/codec/resize_axis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the last one that the processor has. */
enum resize_isa resize_isa_best(void);

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
