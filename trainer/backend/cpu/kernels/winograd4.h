/* What loop_winograd4*.c compute: 3x3 convolutions of stride 1 in f32 by Winograd's F(4x4, 3x3)
 * (Lavin and Gray 2016, arXiv:1509.09308): 16 outputs from 36 products instead of 144.
 *
 * The result's picture is cut into tiles of 4x4 pixels, counted over all images; those at the far
 * edges may hang over. A tile sees 6x6 inputs. At each of its 36 places (row * 6 + column)
 *     forward          V = B'xB of the tiles, U = G w G' of the weights: y = A'(sum over in of V
 * U)A weight gradient  V = B'xB, D = A dy A': dw = G'(sum over tiles of D V)G The data gradient is
 * the forward pass with the weights turned round. B', A and G are those of the points 0, 1, -1, 2,
 * -2 and infinity. Sums are f32; results are off by about 1e-5 of the largest one, ten times as
 * much as a direct sum. A value that is not finite reaches every result of the tiles that see it,
 * as NaN: never fewer results than by direct sums, but more; tiles of a gradient that are all zero
 * may be left out (conv/conv_winograd4_skip.c), and then do not see it.
 *
 * Channels are multiples of WINOGRAD4_CHANNELS. Transformed values lie in 36 places, each a matrix
 * as the product over them wants it. Pointers are the caller's; nothing is allocated. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_WINOGRAD4_H
#define TRAINER_BACKEND_CPU_KERNELS_WINOGRAD4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WINOGRAD4_SIDE = 4,      /* pixels of a tile */
    WINOGRAD4_PLACES = 36,   /* of a tile */
    WINOGRAD4_CHANNELS = 16, /* and a multiple of it */
    WINOGRAD4_SLACK = 16,    /* floats that are read, not used, behind the last row of `a` */
};

/* A picture [images, height, width, channels], dense, and what is taken of a tile: SIDE x SIDE
 * pixels whose first one lies BEFORE rows and columns before the tile's own. */
struct winograd4_picture {
    size_t images, height, width, channels;
    size_t rows, columns; /* of tiles in one image */
    size_t before;
    const uint32_t *chosen; /* the tiles that are computed, in order; NULL: all. Then "tile N" below
                               is the one that stands there */
};

/* Tiles and channels of 36 places. Steps are in floats, and value (tile, channel) of a place lies
 * at base[place * places + channel / width * panels + tile * row + channel % width]: rows of all
 * channels where `width` is as many, or panels of `width` channels. */
struct winograd4_matrix {
    float *base;
    size_t places, panels, row, width;
};

/* c [rows][columns] = a b or c += a b at one place. a lies as rows of its depth, or `by_columns`
 * as columns, [depth][rows], a_row apart; up to 13 rows behind its last one are read and not used.
 * b lies in panels of winograd4_panel() columns, b_panel apart: of weights as winograd4_pack()
 * leaves them, or `by_columns` [depth][columns]. Steps are in floats. */
struct winograd4_product {
    size_t rows, columns, depth;
    size_t cut; /* of the depth, which is added up in such pieces */
    bool by_columns, add;
    const float *a, *b;
    float *c;
    size_t a_row, b_panel, c_row;
    const float *next_a, *next_b; /* of the next call, which is like this one; NULL: unknown */
    void *scratch; /* winograd4_product_scratch() bytes of this thread, aligned to 64 */
};

/* What is done to sums on their way into y [pixels, channels]; NULL leaves a term out. */
struct winograd4_end {
    const float *bias; /* [channels] */
    const float *side; /* like y */
    bool relu;
    float *y;
};

/* From [out][9][in] or, of a data gradient (whose `in` are the forward outputs), from [in][9][out]
 * with the taps turned round. A unit is a panel of outputs, of each place winograd4_weights(in, 1)
 * floats, the places winograd4_weights(in, out) apart. */
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
