/* 3x3 convolutions of stride 1 in f32 by Winograd's products (winograd4.h): what the forward passes
 * and the weight gradient share. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_H
#define TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_H

#include "trainer/backend/cpu/conv/conv_kernel.h"

/* Floats from one place to the next are this many more than the matrix has, so that the places do
 * not all fall into one set of the caches. */
enum { WINOGRAD4_PAD = 16 };

/* Pictures of OP: what is transformed, x or a data gradient's dy, and the one that has the tiles:
 * y, of a data gradient dx. */
void conv_winograd4_pictures(const struct graph *graph, const struct op *op,
                             struct winograd4_picture *ret_in, struct winograd4_picture *ret_out);
/* Whether types, window and channels of OP are such. */
bool conv_winograd4_fits(const struct graph *graph, const struct op *op);
/* Whether it pays: enough pixels of the tiles are in the picture. */
bool conv_winograd4_wins(const struct cpu *cpu, const struct graph *graph, const struct op *op);
/* The loops for so many channels: few are not worth being split for AMX. */
const struct loops *conv_winograd4_loops(const struct cpu *cpu, size_t in, size_t out);
/* Rows of all CHANNELS of TILES tiles at BASE. */
struct winograd4_matrix conv_winograd4_rows(float *base, size_t tiles, size_t channels);
/* Floats of all its places, with what is read behind them. */
size_t conv_winograd4_floats(const struct winograd4_matrix *matrix);

#endif
