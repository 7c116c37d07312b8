/* Transforms of tiles into their 36 places and back (winograd4.h): for each 16 channels, or as
 * many as a register holds, all places of a tile at once. */
#include "trainer/backend/cpu/kernels/conv/loop_winograd4.h"
#include "trainer/backend/cpu/kernels/loop_names.h"

/* These functions do what surrounds the products: winograd4_inputs() and winograd4_gradients() turn
 * pictures into 36 matrices of tiles by channels, winograd4_product() (loop_winograd4_product.c)
 * multiplies them, and winograd4_outputs() turns sums into pixels with their epilogue.
 * conv_winograd4.c and conv_winograd4_weight.c call them for ranges of tiles.
 *
 * The one-dimensional transforms are in loop_winograd4.h; a two-dimensional one applies them to
 * columns, then to rows. All loops over places are unrolled, so values stay in registers where
 * there are enough of them. */

/* Position of a tile. Row and column of its first pixel. */
struct corner {
    size_t image, row, column;
};

/* With a list of chosen tiles TILE is an index in it (winograd4.h). */
static struct corner corner_of(const struct winograd4_picture *p, size_t tile) {
    if (p->chosen != NULL)
        tile = p->chosen[tile];
    return (struct corner){.image = tile / p->columns / p->rows,
                           .row = tile / p->columns % p->rows * WINOGRAD4_SIDE,
                           .column = tile % p->columns * WINOGRAD4_SIDE};
}

/* Finds the SIDE x SIDE pixels that are read for a tile; ZEROS outside the picture. Rows and
 * columns before the picture wrap around to large unsigned numbers, so one comparison tests both
 * borders. */
VEC_INLINE void find_pixels(const struct winograd4_picture *p, const float *from, size_t tile,
                            size_t side, const float *zeros, const float **ret) {
    struct corner at = corner_of(p, tile);
    const float *image = from + at.image * p->height * p->width * p->channels;
    for (size_t i = 0; i < side; i++) {
        size_t row = at.row + i - p->before;
        for (size_t j = 0; j < side; j++) {
            size_t column = at.column + j - p->before;
            ret[i * side + j] = row < p->height && column < p->width
                                    ? image + (row * p->width + column) * p->channels
                                    : zeros;
        }
    }
}

/* B'xB. For LANES channels from CHANNEL on; 36 loads and 36 results. */
VEC_INLINE void transform_inputs(const float *const *pixels, size_t channel, vecf *ret) {
    vecf half[PLACES];
#pragma GCC unroll 6
    for (size_t j = 0; j < SIX; j++) {
        vecf d[SIX];
#pragma GCC unroll 6
        for (size_t i = 0; i < SIX; i++)
            d[i] = vec_load(pixels[i * SIX + j], channel, ELEM_F32);
        winograd4_b(d, 1, half + j, SIX);
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < SIX; i++)
        winograd4_b(half + i * SIX, 1, ret + i * SIX, 1);
}

/* A dy A'. LANES channels again; 16 loads become 36 values. */
VEC_INLINE void transform_gradients(const float *const *pixels, size_t channel, vecf *ret) {
    vecf half[SIX * FOUR];
#pragma GCC unroll 4
    for (size_t j = 0; j < FOUR; j++) {
        vecf d[FOUR];
#pragma GCC unroll 4
        for (size_t i = 0; i < FOUR; i++)
            d[i] = vec_load(pixels[i * FOUR + j], channel, ELEM_F32);
        winograd4_a(d, 1, half + j, FOUR);
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < SIX; i++)
        winograd4_a(half + i * FOUR, 1, ret + i * SIX, 1);
}

/* PLACES is the distance between two places, in floats. Each place is a matrix of its own, so the
 * stores of a tile go to 36 lines. */
VEC_INLINE void store_places(float *to, size_t places, const vecf *values) {
#pragma GCC unroll 36
    for (size_t i = 0; i < PLACES; i++)
        vec_store(to, i * places, values[i], ELEM_F32);
}

/* One tile of x or, with GRADIENT, of dy. The matrix is in panels of `width` channels or in whole
 * rows, for which there is one panel. */
VEC_INLINE void transform_tile(const struct winograd4_picture *p, const float *const *pixels,
                               const struct winograd4_matrix *to, size_t tile, bool gradient) {
    for (size_t first = 0; first < p->channels; first += to->width) {
        float *base = to->base + first / to->width * to->panels + tile * to->row;
        size_t left = p->channels - first, channels = left < to->width ? left : to->width;
        for (size_t channel = 0; channel < channels; channel += LANES) {
            vecf values[PLACES];
            if (gradient)
                transform_gradients(pixels, first + channel, values);
            else
                transform_inputs(pixels, first + channel, values);
            store_places(base + channel, to->places, values);
        }
    }
}

/* COUNT tiles from BEGIN on become the first rows of TO. */
void LOOP(winograd4_inputs)(const struct winograd4_picture *p, const float *x, const float *zeros,
                            size_t begin, size_t count, const struct winograd4_matrix *to) {
    for (size_t tile = 0; tile < count; tile++) {
        const float *pixels[PLACES];
        find_pixels(p, x, begin + tile, SIX, zeros, pixels);
        transform_tile(p, pixels, to, tile, false);
    }
}

/* dy has no border around its tiles: 4x4 pixels become 6x6 places. */
void LOOP(winograd4_gradients)(const struct winograd4_picture *p, const float *dy,
                               const float *zeros, size_t begin, size_t count,
                               const struct winograd4_matrix *to) {
    for (size_t tile = 0; tile < count; tile++) {
        const float *pixels[FOUR * FOUR];
        find_pixels(p, dy, begin + tile, FOUR, zeros, pixels);
        transform_tile(p, pixels, to, tile, true);
    }
}

/* Returns true if a pixel of a tile has a nonzero value. -0 counts as zero and NaN as nonzero. */
static bool is_used(const float *const *pixels, size_t count, size_t channels) {
    for (size_t i = 0; i < count; i++) {
        veci any = {0};
        for (size_t channel = 0; channel < channels; channel += LANES)
            any |= vec_load(pixels[i], channel, ELEM_F32) != vec_set(0);
        for (size_t lane = 0; lane < LANES; lane++)
            if (any[lane] != 0)
                return true;
    }
    return false;
}

/* SIDE is 4 for a tile's own pixels or 6 for all that are read for it. NaN and infinity are values,
 * too: their tiles are computed. */
void LOOP(winograd4_used)(const struct winograd4_picture *p, const float *from, const float *zeros,
                          size_t side, size_t begin, size_t end, bool *ret) {
    for (size_t tile = begin; tile < end; tile++) {
        const float *pixels[PLACES];
        find_pixels(p, from, tile, side, zeros, pixels);
        ret[tile] = is_used(pixels, side * side, p->channels);
    }
}

/* --- back ------------------------------------------------------------------------------------- */

/* Transforms a tile's sums of some channels back to ROWS x COLUMNS pixels from AT on, where y and
 * side have channel OUT. ROWS and COLUMNS may exceed 4; less than 4 are a tile that extends beyond
 * the picture. */
VEC_INLINE void transform_back(const struct winograd4_picture *p, const float *from, size_t places,
                               const struct winograd4_end *end, size_t at, size_t rows,
                               size_t columns, size_t out) {
    vecf half[FOUR * SIX];
    vecf bias = end->bias != NULL ? vec_load(end->bias, out, ELEM_F32) : vec_set(0);
#pragma GCC unroll 6
    for (size_t j = 0; j < SIX; j++) {
        vecf m[SIX];
#pragma GCC unroll 6
        for (size_t i = 0; i < SIX; i++)
            m[i] = vec_load(from, (i * SIX + j) * places, ELEM_F32);
        winograd4_at(m, 1, half + j, SIX);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < FOUR; i++) {
        vecf y[FOUR];
        if (i >= rows)
            break;
        winograd4_at(half + i * SIX, 1, y, 1);
#pragma GCC unroll 4
        for (size_t j = 0; j < FOUR; j++) {
            size_t to = (at + i * p->width + j) * p->channels + out;
            if (j >= columns)
                break;
            vecf value = y[j] + bias;
            if (end->side != NULL)
                value += vec_load(end->side, to, ELEM_F32);
            vec_store(end->y, to, end->relu ? vec_relu(value) : value, ELEM_F32);
        }
    }
}

/* Channels [OUT, OUT + width) of COUNT tiles; FROM holds the sums of exactly these. */
void LOOP(winograd4_outputs)(const struct winograd4_picture *p, const struct winograd4_matrix *from,
                             size_t begin, size_t count, size_t out,
                             const struct winograd4_end *end) {
    for (size_t tile = 0; tile < count; tile++) {
        struct corner c = corner_of(p, begin + tile);
        size_t at = (c.image * p->height + c.row) * p->width + c.column;
        size_t rows = p->height - c.row, columns = p->width - c.column;
        for (size_t channel = 0; channel < from->width; channel += LANES)
            transform_back(p, from->base + tile * from->row + channel, from->places, end, at, rows,
                           columns, out + channel);
    }
}
