/* Weight gradient of a 3x3 convolution of stride 1 in bf16 by Winograd's F(2x2, 3x3), the gradient
 * of loop_winograd.c: in a tile of 2x2 outputs dy becomes A dy A', the 4x4 inputs B'xB; for each
 * of the 16 places there is a product over tiles, and G'uG reduces the sums to 3x3.
 *
 * A unit is 64 inputs by 64 outputs. Both sides of a block of tiles are transformed and packed in
 * panels as in loop_weight.c: a line of 64 bytes holds 16 channels of two tiles, interleaved. The
 * sums of a unit stay in the L2 cache. Panels hold the even or the odd ones of 32 channels, which
 * are put in order at the end. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* conv_weight.c prefers this kernel to loop_weight.c where both exist: 16 products for a tile
 * instead of 36, at the price of transforms. Sums are f32. Both transformed sides are rounded to
 * bf16 once, as the products take bf16 alone.
 *
 * Scratch of a thread: packed x, packed dy, the sums of the unit at 16 places, and a row of zeros
 * for pixels outside the picture. */

enum { PLACES = 16, PANEL = 16, PANELS = 4, WIDE = WEIGHT_GROUP, TILE = 4, LINE = 64 };
enum { LINES = 56 }; /* of a block, each with two tiles */

/* An odd number of lines, so that panels do not all map to one set of the cache. */
enum { PANEL_BYTES = (LINES | 1) * LINE, PLACE_BYTES = PANELS * PANEL_BYTES };
enum { SUM_FLOATS = WIDE * WIDE }; /* for one place */

/* Units are whole, so no panel is partial. */
bool LOOP(winograd_weight_supported)(const struct weight_part *part) {
    return part->elem == ELEM_BF16 && part->kernel == 3 && part->stride == 1 && part->pad == 1 &&
           part->in % WIDE == 0 && part->out % WIDE == 0;
}

size_t LOOP(winograd_weight_scratch)(const struct weight_part *part) {
    return (size_t)PLACES * (2 * PLACE_BYTES + SUM_FLOATS * sizeof(float)) +
           (part->in > part->out ? part->in : part->out) * sizeof(uint16_t);
}

/* Transformed sides of a block and sums of the unit; ZEROS is the row for pixels outside. */
struct memory {
    char *x, *dy;
    float *sums;
    const char *zeros;
};

/* Clears the row of zeros at each call: the scratch is shared with other operators. */
static struct memory memory_of(const struct weight_part *p) {
    struct memory m = {.x = p->scratch};
    m.dy = m.x + PLACES * PLACE_BYTES;
    m.sums = (float *)(void *)(m.dy + PLACES * PLACE_BYTES);
    char *zeros = (char *)(m.sums + (size_t)PLACES * SUM_FLOATS);
    memset(zeros, 0, (p->in > p->out ? p->in : p->out) * sizeof(uint16_t));
    m.zeros = zeros;
    return m;
}

/* Finds a square of SIDE x SIDE pixels that begins that many pixels before the tile's; ZEROS
 * outside the picture, and for all of a tile that does not exist. x is read one pixel before the
 * tile, 4x4; dy is the tile itself, 2x2. Coordinates before the picture wrap around to large
 * numbers. */
static void find_pixels(const struct weight_part *p, size_t tile, size_t side, const char *zeros,
                        const char **ret) {
    size_t columns = winograd_tiles(p->width), rows = winograd_tiles(p->height);
    size_t before = side == 4 ? 1 : 0, channels = side == 4 ? p->in : p->out;
    const char *from = side == 4 ? p->x : p->dy;
    size_t top = 2 * (tile / columns % rows) - before, left = 2 * (tile % columns) - before;
    size_t image = tile / columns / rows;
    for (size_t i = 0; i < side * side; i++) {
        size_t row = top + i / side, column = left + i % side;
        bool inside = row < p->height && column < p->width && tile < p->end;
        ret[i] =
            inside ? from + ((image * p->height + row) * p->width + column) * channels * 2 : zeros;
    }
}

/* Sixteen of 32 bf16 channels as f32: a bf16 is the upper half of an f32, so the odd ones only need
 * a mask and the even ones a shift. This is why channels are split into even and odd ones. */
VEC_INLINE __m512 half_of(const char *pairs, bool odd) {
    __m512i all = _mm512_loadu_si512(pairs);
    return (__m512)(odd ? _mm512_and_si512(all, _mm512_set1_epi32((int)0xffff0000U))
                        : _mm512_slli_epi32(all, 16));
}

/* One dimension of B'x. STEP is 4 for columns and 1 for rows of the 4x4 inputs; both together are
 * B'xB. */
VEC_INLINE void inputs_four(__m512 *a, size_t step) {
    __m512 a0 = a[0], a1 = a[step], a2 = a[2 * step], a3 = a[3 * step];
    a[0] = _mm512_sub_ps(a0, a2);
    a[step] = _mm512_add_ps(a1, a2);
    a[2 * step] = _mm512_sub_ps(a2, a1);
    a[3 * step] = _mm512_sub_ps(a1, a3);
}

/* All 16 places of 16 channels are in registers at once. */
VEC_INLINE void transform_x(const char *const *pixels, size_t offset, bool odd, __m512 *a) {
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        a[i] = half_of(pixels[i] + offset, odd);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        inputs_four(a + i, 4);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        inputs_four(a + 4 * i, 1);
}

/* One dimension of A dy: four from two. */
VEC_INLINE void outputs_four(__m512 a, __m512 b, __m512 *ret, size_t step) {
    ret[0] = a;
    ret[step] = _mm512_add_ps(a, b);
    ret[2 * step] = _mm512_sub_ps(a, b);
    ret[3 * step] = _mm512_sub_ps(_mm512_setzero_ps(), b);
}

/* Columns first, then rows; A dy A' has 16 values from four. */
VEC_INLINE void transform_dy(const char *const *pixels, size_t offset, bool odd, __m512 *a) {
    __m512 y[4], half[8];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        y[i] = half_of(pixels[i] + offset, odd);
    outputs_four(y[0], y[2], half, 2);
    outputs_four(y[1], y[3], half + 1, 2);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        outputs_four(half[2 * i], half[2 * i + 1], a + 4 * i, 1);
}

/* One panel's line at all places. Two tiles are interleaved word by word, as vdpbf16ps adds the
 * products of pairs. */
VEC_INLINE void pack_line(const char *const *first, const char *const *second, size_t offset,
                          bool odd, bool is_x, char *to) {
    static const uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i interleave = _mm512_loadu_si512(order);
    __m512 a[PLACES], b[PLACES];
    if (is_x) {
        transform_x(first, offset, odd, a);
        transform_x(second, offset, odd, b);
    } else {
        transform_dy(first, offset, odd, a);
        transform_dy(second, offset, odd, b);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        _mm512_store_si512(
            to + i * PLACE_BYTES,
            _mm512_permutexvar_epi16(interleave, (__m512i)_mm512_cvtne2ps_pbh(b[i], a[i])));
}

/* Finds the pixels of tiles TILE and TILE + 1, and prefetches them. Of x two of four columns were
 * read with the tile before, and are not prefetched. */
VEC_INLINE void find_pair(const struct weight_part *p, const char *zeros, size_t tile,
                          size_t channel, bool is_x, const char *ret[2][PLACES]) {
    size_t side = is_x ? 4 : 2;
    for (size_t i = 0; i < 2; i++) {
        find_pixels(p, tile + i, side, zeros, ret[i]);
        for (size_t k = 0; k < side * side; k++) {
            if (side == 4 && k % 4 < 2)
                continue;
            _mm_prefetch(ret[i][k] + channel * 2, _MM_HINT_T0);
            _mm_prefetch(ret[i][k] + channel * 2 + LINE, _MM_HINT_T0);
        }
    }
}

/* 64 channels of COUNT lines from tile BEGIN on. Pixels of the following line are found, and
 * prefetched, before the current one is transformed; the two sets take turns. */
VEC_INLINE void pack(const struct weight_part *p, const char *zeros, size_t begin, size_t count,
                     size_t channel, bool is_x, char *to) {
    const char *pixels[2][2][PLACES];
    find_pair(p, zeros, begin, channel, is_x, pixels[0]);
    for (size_t k = 0; k < count; k++) {
        const char *const *first = pixels[k % 2][0], *const *second = pixels[k % 2][1];
        find_pair(p, zeros, begin + 2 * (k + 1), channel, is_x, pixels[(k + 1) % 2]);
        for (size_t panel = 0; panel < PANELS; panel += 2) {
            size_t offset = (channel + panel * PANEL) * sizeof(uint16_t);
            char *line = to + panel * PANEL_BYTES + k * LINE;
            pack_line(first, second, offset, false, is_x, line);
            pack_line(first, second, offset, true, is_x, line + PANEL_BYTES);
        }
    }
}

/* 4 outputs x 64 inputs over the lines of a block. SET begins the sums with zeros. */
VEC_INLINE void product(const char *dy, const char *x, size_t lines, bool set, float *sums) {
    __m512 sum[TILE][PANELS];
#pragma GCC unroll 4
    for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < PANELS; j++)
            sum[i][j] = set ? _mm512_setzero_ps() : _mm512_load_ps(sums + i * WIDE + j * PANEL);
    for (size_t k = 0; k < lines; k++) {
        __m512bh line[PANELS];
#pragma GCC unroll 4
        for (size_t j = 0; j < PANELS; j++)
            line[j] = (__m512bh)_mm512_load_si512(x + j * PANEL_BYTES + k * LINE);
#pragma GCC unroll 4
        for (size_t i = 0; i < TILE; i++) {
            int32_t word;
            memcpy(&word, dy + k * LINE + i * sizeof word, sizeof word);
            __m512bh all = (__m512bh)_mm512_set1_epi32(word);
#pragma GCC unroll 4
            for (size_t j = 0; j < PANELS; j++)
                sum[i][j] = _mm512_dpbf16_ps(sum[i][j], all, line[j]);
        }
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < PANELS; j++)
            _mm512_store_ps(sums + i * WIDE + j * PANEL, sum[i][j]);
}

/* At each place 64 x 64 results, 4 outputs at a time; the block's panels of x are read again for
 * each. */
static void products(const struct memory *m, size_t lines, bool set) {
    for (size_t place = 0; place < PLACES; place++)
        for (size_t o = 0; o < WIDE; o += TILE)
            product(
                m->dy + place * PLACE_BYTES + o / PANEL * PANEL_BYTES + o % PANEL * sizeof(int32_t),
                m->x + place * PLACE_BYTES, lines, set, m->sums + place * SUM_FLOATS + o * WIDE);
}

/* One dimension of G'u: three from four. */
VEC_INLINE void three_of(const __m512 *u, size_t step, __m512 *ret, size_t ret_step) {
    const __m512 half = _mm512_set1_ps(0.5F);
    __m512 sum = _mm512_mul_ps(half, _mm512_add_ps(u[step], u[2 * step]));
    ret[0] = _mm512_add_ps(u[0], sum);
    ret[ret_step] = _mm512_mul_ps(half, _mm512_sub_ps(u[step], u[2 * step]));
    ret[2 * ret_step] = _mm512_add_ps(u[3 * step], sum);
}

/* The 9 taps of 16 inputs. */
VEC_INLINE void taps_of(const float *sums, __m512 ret[9]) {
    __m512 u[PLACES], half[12];
#pragma GCC unroll 16
    for (size_t i = 0; i < PLACES; i++)
        u[i] = _mm512_load_ps(sums + i * SUM_FLOATS);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        three_of(u + i, 4, half + i, 4);
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++)
        three_of(half + 4 * i, 1, ret + 3 * i, 1);
}

/* Returns which of the 64 outputs is line O of the sums, in the panels' order. */
static size_t channel_of(size_t o) {
    return o / 32 * 32 + o % 16 * 2 + o / 16 % 2;
}

/* Transforms the sums of the unit to nine taps, 32 inputs at a time, and interleaves even and odd
 * ones: both channels' orders are put right here. */
static void finish(const struct weight_part *p, const float *sums, size_t in, size_t out) {
    static const int32_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i low = _mm512_loadu_si512(order), high = _mm512_loadu_si512(order + 16);
    for (size_t o = 0; o < WIDE; o++)
        for (size_t i = 0; i < WIDE; i += 32) {
            __m512 even[9], odd[9];
            float *to = p->dw + (out + channel_of(o)) * 9 * p->in + in + i;
            taps_of(sums + o * WIDE + i, even);
            taps_of(sums + o * WIDE + i + PANEL, odd);
            for (size_t tap = 0; tap < 9; tap++, to += p->in) {
                _mm512_storeu_ps(to, _mm512_permutex2var_ps(even[tap], low, odd[tap]));
                _mm512_storeu_ps(to + PANEL, _mm512_permutex2var_ps(even[tap], high, odd[tap]));
            }
        }
}

/* A unit owns its results and adds its blocks in order. The last line may have one tile only; the
 * missing one reads zeros. */
void LOOP(winograd_weight_run)(const struct weight_part *p) {
    struct memory m = memory_of(p);
    size_t total = (p->end - p->begin + 1) / 2, blocks = (total + LINES - 1) / LINES;
    for (size_t unit = p->unit_begin; unit < p->unit_end; unit++) {
        size_t in = unit % (p->in / WIDE) * WIDE, out = unit / (p->in / WIDE) * WIDE;
        for (size_t block = 0; block < blocks; block++) {
            size_t begin = total * block / blocks, lines = total * (block + 1) / blocks - begin;
            pack(p, m.zeros, p->begin + 2 * begin, lines, in, true, m.x);
            pack(p, m.zeros, p->begin + 2 * begin, lines, out, false, m.dy);
            products(&m, lines, block == 0);
        }
        finish(p, m.sums, in, out);
    }
}
