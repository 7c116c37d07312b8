/* Skipping of tiles in Winograd's products. Gradients that are zero in many tiles need no products
 * there. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_SKIP_H
#define TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_SKIP_H

#include "trainer/backend/cpu/base/context.h"

#include <stddef.h>
#include <stdint.h>

/* Which tiles are computed. TILES and SCRATCH, of conv_winograd4_choice_bytes(), are the caller's
 * to set. */
struct conv_winograd4_choice {
    size_t tiles, count;
    const uint32_t *chosen; /* COUNT of them, as in winograd4.h; NULL: all */
    void *scratch;
};

size_t conv_winograd4_choice_bytes(size_t tiles);
/* Chooses the tiles of PICTURE at FROM with SIDE x SIDE pixels that are not all zero; ZEROS has one
 * value per channel. */
void conv_winograd4_choose(const struct cpu *cpu, const struct winograd4_picture *picture,
                           const float *from, const float *zeros, size_t side,
                           struct conv_winograd4_choice *choice);
/* Writes zeros to the pixels of Y, laid out as PICTURE, in skipped tiles. */
void conv_winograd4_clear(const struct cpu *cpu, const struct winograd4_picture *picture,
                          const struct conv_winograd4_choice *choice, float *y);

#endif
