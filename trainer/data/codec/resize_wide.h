/* Versions of a resampling's passes for AVX2 and AVX-512.
 *
 * trainer/data/codec/resize_rows.c chooses between them. */
#ifndef TRAINER_DATA_CODEC_RESIZE_WIDE_H
#define TRAINER_DATA_CODEC_RESIZE_WIDE_H

#include "common/error.h"
#include "trainer/data/codec/resize_axis.h"

enum {
    RESIZE_DOWN_SHIFT = RESIZE_WEIGHT_BITS - RESIZE_BETWEEN_BITS,
    RESIZE_ACROSS_SHIFT = RESIZE_WEIGHT_BITS + RESIZE_BETWEEN_BITS,
};

#if defined(__x86_64__)
/* All columns, or none if they do not fill a vector; return how many. */
size_t resize_down_avx2(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                        size_t size, int16_t *out);
size_t resize_down_avx512(const uint8_t *first, size_t stride, const int16_t *weights, int taps,
                          size_t size, int16_t *out);

/* Fill `first` and `vectors` by the other members; *RET_FITS is false for a scale that is too large
 * for the version. */
int resize_across_prepare_avx2(struct resize_across *across, struct error *err);
int resize_across_prepare_avx512(struct resize_across *across, bool *ret_fits, struct error *err);

void resize_across_avx2(const struct resize_across *across, const int16_t *row, uint8_t *out);
void resize_across_avx512(const struct resize_across *across, const int16_t *row, uint8_t *out);
#endif

#endif
