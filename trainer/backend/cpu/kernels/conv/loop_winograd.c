/* 3x3 convolution of stride 1 in bf16 by Winograd's F(2x2, 3x3) (Lavin and Gray 2016): four
 * outputs from sixteen products instead of thirty-six.
 *
 * Pictures are cut into tiles of 2x2 outputs, which read 4x4 inputs. The inputs of a block of
 * tiles are transformed (B'dB), for each of the 16 places there is a matrix product over channels,
 * and the sums are transformed back (A'mA). Sums and transforms are f32; transformed inputs and
 * weights are rounded to bf16 once. A block's transformed inputs stay in the L2 cache; the kernel
 * keeps 7 tiles x 64 outputs in registers.
 *
 * Order of channels in transformed inputs: of each 32 the even ones, then the odd ones, as they
 * result from splitting lines of bf16. The weights (loop_winograd_pack.c) have the same order. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#include "trainer/backend/cpu/kernels/conv/loop_tile.h"

/* Scratch of a thread: the block's transformed inputs, its sums for 64 outputs at all places, and a
 * row of zeros for pixels outside the picture. conv_bf16.c gives each thread whole lines of
 * tiles. */

enum { PLACES = 16, GROUP = TILE_GROUP, OUTS = PACK_OUTS, ROWS = TILE_ROWS, LINE = TILE_LINE };
enum { INPUT_BYTES = 384 << 10 }; /* approximate size of a block's transformed inputs */

/* Channels fill whole lines of bf16 and whole groups of packed outputs. */
bool LOOP(winograd_supported)(const struct winograd *w) {
    return w->in % PACK_INS == 0 && w->out % OUTS == 0;
}

/* Tiles of a block: a multiple of what the kernel processes at once. */
size_t LOOP(winograd_block)(const struct winograd *w) {
    size_t tiles = INPUT_BYTES / (PLACES * w->in * sizeof(uint16_t)) / ROWS * ROWS;
    return tiles < ROWS ? ROWS : tiles > 8 * ROWS ? 8 * ROWS : tiles;
}

/* Distance between the channels of two tiles: an odd number of lines. */
static size_t row_bytes(const struct winograd *w) {
    return w->in * sizeof(uint16_t) + LINE;
}

/* Transformed inputs and sums of a block at 16 places, and a row of zeros. */
size_t LOOP(winograd_scratch)(const struct winograd *w) {
    return PLACES * LOOP(winograd_block)(w) * (row_bytes(w) + OUTS * sizeof(float)) +
           w->in * sizeof(uint16_t);
}

/* Position of a tile. */
struct corner {
    size_t image, row, column;
};

/* Tiles are counted row by row over all images. */
static struct corner corner_of(const struct winograd *w, size_t number) {
    size_t columns = winograd_tiles(w->width), rows = winograd_tiles(w->height);
    return (struct corner){.image = number / columns / rows,
                           .row = 2 * (number / columns % rows),
                           .column = 2 * (number % columns)};
}

/* Finds the 16 pixels that a tile reads; ZEROS outside the picture. The window begins one pixel
 * above and left of the tile; coordinates before the picture wrap around to large numbers and count
 * as outside. */
static void find_pixels(const struct winograd *w, struct corner t, const char *zeros,
                        const char *ret[PLACES]) {
    for (size_t i = 0; i < PLACES; i++) {
        size_t row = t.row + i / 4 - 1, column = t.column + i % 4 - 1;
        bool inside = row < w->height && column < w->width;
        ret[i] = inside ? (const char *)w->x +
                              ((t.image * w->height + row) * w->width + column) * w->in * 2
                        : zeros;
    }
}

/* A bf16 is the upper half of an f32: the odd ones of 32 channels need a mask, the even ones a
 * shift. */
VEC_INLINE __m512 half_of(__m512i pairs, bool odd) {
    return (__m512)(odd ? _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000U))
                        : _mm512_slli_epi32(pairs, 16));
}

/* One dimension of B'd. */
VEC_INLINE void forward_four(__m512 *a, size_t step) {
    __m512 a0 = a[0], a1 = a[step], a2 = a[2 * step], a3 = a[3 * step];
    a[0] = _mm512_sub_ps(a0, a2);
    a[step] = _mm512_add_ps(a1, a2);
    a[2 * step] = _mm512_sub_ps(a2, a1);
    a[3 * step] = _mm512_sub_ps(a1, a3);
}

/* 16 channels of one tile: the even or the odd ones of 32. OFFSET is in bytes within a pixel, PLACE
 * the distance between two places. */
VEC_INLINE void transform_half(const char *const *pixels, size_t offset, bool odd, char *to,
                               size_t place) {
    __m512 a[PLACES];
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        a[i] = half_of(_mm512_loadu_si512(pixels[i] + offset), odd);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        forward_four(a + i, 4);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        forward_four(a + 4 * i, 1);
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        _mm256_store_si256((__m256i *)(void *)(to + i * place), (__m256i)_mm512_cvtneps_pbh(a[i]));
}

/* COUNT tiles from BEGIN on, for all channels: rows of the matrices that products() multiplies. */
static void transform_inputs(const struct winograd *w, size_t begin, size_t count, char *inputs,
                             const char *zeros) {
    size_t row = row_bytes(w), place = row * LOOP(winograd_block)(w);
    for (size_t t = 0; t < count; t++) {
        const char *pixels[PLACES];
        find_pixels(w, corner_of(w, begin + t), zeros, pixels);
        for (size_t offset = 0; offset < w->in * 2; offset += LINE) {
            char *to = inputs + t * row + offset;
            transform_half(pixels, offset, false, to, place);
            transform_half(pixels, offset, true, to + LINE / 2, place);
        }
    }
}

/* COUNT tiles x 64 outputs over all channels. COUNT is a constant, so that the sums stay in
 * registers (loop_tile.h). */
VEC_INLINE void product(const char *inputs, size_t row, const char *weights, size_t pairs,
                        size_t count, float *sums) {
    struct tile tile;
    tile_clear(&tile, count);
    tile_products(&tile, inputs, row, weights, pairs, count, false, (struct tile_soon){0});
#pragma GCC unroll 7
    for (size_t i = 0; i < count; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < GROUP; j++)
            _mm512_store_ps(sums + i * OUTS + j * 16, tile.sum[i][j]);
}

/* Parts of equal size, at most ROWS tiles each; TILE_COUNTS turns their number into a constant. */
static void products(const char *inputs, size_t row, const char *weights, size_t pairs,
                     size_t count, float *sums) {
    size_t parts = (count + ROWS - 1) / ROWS;
    for (size_t part = 0; part < parts; part++) {
        size_t begin = count * part / parts, end = count * (part + 1) / parts;
        const char *from = inputs + begin * row;
        float *to = sums + begin * OUTS;
#define TOGETHER(rows) product(from, row, weights, pairs, rows, to)
#define EACH(i) product(from + (i)*row, row, weights, pairs, 1, to + (i)*OUTS)
        TILE_COUNTS(end - begin, TOGETHER, EACH)
    }
}

/* One dimension of A'm: two of four. */
VEC_INLINE void back_two(const __m512 *m, size_t step, __m512 *ret, size_t ret_step) {
    __m512 sum = _mm512_add_ps(m[step], m[2 * step]), rest = _mm512_sub_ps(m[step], m[2 * step]);
    ret[0] = _mm512_add_ps(m[0], sum);
    ret[ret_step] = _mm512_sub_ps(rest, m[3 * step]);
}

/* Writes 16 SUMS with their end to element AT of Y, an output OUT and the following ones. The order
 * is that of struct bf16_end: bias, side, ReLU, and one rounding. */
VEC_INLINE void store(void *y, size_t at, size_t out, __m512 sums, const struct bf16_end *end) {
    vecf value = (vecf)sums;
    if (end->bias != NULL)
        value += vec_load(end->bias, out, ELEM_F32);
    if (end->side != NULL)
        value += vec_load(end->side, at, ELEM_BF16);
    vec_store(y, at, end->relu ? vec_relu(value) : value, ELEM_BF16);
}

/* Pixels outside the picture, which are not written. */
static const size_t NOWHERE = SIZE_MAX;

/* Writes 16 outputs, from OUT on, of one tile to those of its pixels that exist. */
VEC_INLINE void transform_back(const struct winograd *w, const float *sums, size_t place,
                               const size_t *pixels, size_t out) {
    __m512 m[PLACES], half[8], y[4];
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        m[i] = _mm512_load_ps(sums + i * place);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        back_two(m + i, 4, half + i, 4);
    back_two(half, 1, y, 1);
    back_two(half + 4, 1, y + 2, 1);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        if (pixels[i] != NOWHERE)
            store(w->y, pixels[i] * w->out + out, out, y[i], &w->end);
}

/* The last row and column of an odd picture have tiles with fewer pixels. */
static void transform_outputs(const struct winograd *w, size_t begin, size_t count,
                              const float *sums, size_t out) {
    size_t place = LOOP(winograd_block)(w) * OUTS;
    for (size_t t = 0; t < count; t++) {
        struct corner at = corner_of(w, begin + t);
        size_t pixels[4];
        for (size_t i = 0; i < 4; i++) {
            size_t row = at.row + i / 2, column = at.column + i % 2;
            pixels[i] = row < w->height && column < w->width
                            ? (at.image * w->height + row) * w->width + column
                            : NOWHERE;
        }
        for (size_t j = 0; j < OUTS; j += 16)
            transform_back(w, sums + t * OUTS + j, place, pixels, out + j);
    }
}

/* Tiles [BEGIN, END) by blocks of equal size. The weights of 64 outputs at all places are read once
 * per block, which is why a block should not be small. */
void LOOP(winograd_run)(const struct winograd *w, size_t begin, size_t end) {
    size_t tiles = LOOP(winograd_block)(w), row = row_bytes(w), pairs = w->in / 2;
    size_t blocks = (end - begin + tiles - 1) / tiles;
    char *inputs = w->scratch;
    float *sums = (float *)(void *)(inputs + PLACES * tiles * row);
    char *zeros = (char *)(sums + PLACES * tiles * OUTS);
    memset(zeros, 0, w->in * 2);
    for (size_t block = 0; block < blocks; block++) {
        size_t first = begin + (end - begin) * block / blocks;
        size_t count = begin + (end - begin) * (block + 1) / blocks - first;
        const char *weights = w->weights;
        transform_inputs(w, first, count, inputs, zeros);
        for (size_t out = 0; out < w->out; out += OUTS) {
            for (size_t i = 0; i < PLACES; i++, weights += pairs * GROUP * LINE)
                products(inputs + i * tiles * row, row, weights, pairs, count,
                         sums + i * tiles * OUTS);
            transform_outputs(w, first, count, sums, out);
        }
    }
}
