/* 3x3 convolutions of stride 1 in f32 by Winograd's products (winograd4.h): declarations shared by
 * the forward pass and the weight gradient. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_H
#define TRAINER_BACKEND_CPU_CONV_CONV_WINOGRAD4_H

#include "trainer/backend/cpu/conv/conv_kernel.h"

/* Padding between places, in floats, so that places do not all map to one set of the caches. */
enum { WINOGRAD4_PAD = 16 };

/* The pictures of OP: the one that is transformed, x or a data gradient's dy, and the one with the
 * tiles: y, or a data gradient's dx. */
void conv_winograd4_pictures(const struct graph *graph, const struct op *op,
                             struct winograd4_picture *ret_in, struct winograd4_picture *ret_out);
/* Returns true if types, window and channels of OP are supported. */
bool conv_winograd4_fits(const struct graph *graph, const struct op *op);
/* Returns true if it pays: enough pixels of the tiles are in the picture. */
bool conv_winograd4_wins(const struct cpu *cpu, const struct graph *graph, const struct op *op);
/* Returns the loops for that many channels: splitting for AMX does not pay for few. */
const struct loops *conv_winograd4_loops(const struct cpu *cpu, size_t in, size_t out);
/* Returns the layout with rows of all CHANNELS of TILES tiles at BASE. */
struct winograd4_matrix conv_winograd4_rows(float *base, size_t tiles, size_t channels);
/* Returns the floats of all its places, including those read past the end. */
size_t conv_winograd4_floats(const struct winograd4_matrix *matrix);

#endif
