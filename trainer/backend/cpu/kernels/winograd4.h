/* Winograd convolution of loop_winograd4*.c: 3x3 convolutions of stride 1 in f32 by Winograd's
 * F(4x4, 3x3) (Lavin and Gray 2016, arXiv:1509.09308): 16 outputs from 36 products instead of 144.
 *
 * The result's picture is cut into tiles of 4x4 pixels, counted over all images; those at the far
 * edges may extend beyond it. A tile reads 6x6 inputs. At each of its 36 places (row * 6 + column)
 *     forward          V = B'xB of the tiles, U = G w G' of the weights:
 *                      y = A'(sum over in of V U)A
 *     weight gradient  V = B'xB, D = A dy A': dw = G'(sum over tiles of D V)G
 * The data gradient is the forward pass with the weights rotated by 180 degrees. B', A and G are
 * those of the points 0, 1, -1, 2, -2 and infinity. Sums are f32; the error is about 1e-5 of the
 * largest result, ten times that of a direct sum. A non-finite value makes all results of the
 * tiles that read it NaN: never fewer results than direct sums, but more. Tiles of a gradient that
 * are all zero may be skipped (conv/conv_winograd4_skip.c), and then do not read it.
 *
 * Channels are multiples of WINOGRAD4_CHANNELS. Transformed values are stored in 36 places, each a
 * matrix in the layout that the product over them needs. Pointers are the caller's; nothing is
 * allocated. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_WINOGRAD4_H
#define TRAINER_BACKEND_CPU_KERNELS_WINOGRAD4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WINOGRAD4_SIDE = 4,      /* pixels of a tile */
    WINOGRAD4_PLACES = 36,   /* of a tile */
    WINOGRAD4_CHANNELS = 16, /* and a multiple of it */
    WINOGRAD4_SLACK = 16,    /* floats after the last row of `a` that are read but not used */
};

/* A picture [images, height, width, channels], dense, and the pixels that are read for a tile:
 * SIDE x SIDE pixels that begin BEFORE rows and columns before the tile's own. */
struct winograd4_picture {
    size_t images, height, width, channels;
    size_t rows, columns; /* of tiles in one image */
    size_t before;
    const uint32_t *chosen; /* the tiles to compute, in order; NULL: all. Then "tile N" below is
                             * the N-th in this list */
};

/* Tiles and channels of 36 places. Steps are in floats, and value (tile, channel) of a place is at
 * base[place * places + channel / width * panels + tile * row + channel % width]: rows of all
 * channels if `width` is as many, or panels of `width` channels. */
struct winograd4_matrix {
    float *base;
    size_t places, panels, row, width;
};

/* c [rows][columns] = a b or c += a b at one place. a is stored by rows of its depth, or
 * `by_columns`, [depth][rows], a_row apart; up to 13 rows after its last one are read but not
 * used. b is stored in panels of winograd4_panel() columns, b_panel apart: of weights, as packed
 * by winograd4_pack(), or `by_columns` [depth][columns]. Steps are in floats. */
struct winograd4_product {
    size_t rows, columns, depth;
    size_t cut; /* of the depth, which is summed in pieces of this size */
    bool by_columns, add;
    const float *a, *b;
    float *c;
    size_t a_row, b_panel, c_row;
    const float *next_a, *next_b; /* of the next call, which is like this one; NULL: unknown */
    void *scratch; /* winograd4_product_scratch() bytes of this thread, aligned to 64 */
};

/* Operations on sums when they are written to y [pixels, channels]; NULL omits a term. */
struct winograd4_end {
    const float *bias; /* [channels] */
    const float *side; /* like y */
    bool relu;
    float *y;
};

/* From [out][9][in] or, for a data gradient (where `in` are the forward outputs), from
 * [in][9][out] with the taps rotated by 180 degrees. A unit is a panel of outputs, with
 * winograd4_weights(in, 1) floats per place, places winograd4_weights(in, out) apart. */
struct winograd4_pack {
    size_t in, out;
    bool gradient;
    const float *w;
    float *weights;
};

static inline size_t winograd4_cells(size_t pixels) {
    return (pixels + WINOGRAD4_SIDE - 1) / WINOGRAD4_SIDE;
}

static inline size_t winograd4_tiles(const struct winograd4_picture *p) {
    return p->images * p->rows * p->columns;
}

#endif
