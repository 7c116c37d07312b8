/* Weight gradient of a convolution: dw[o][tap][i] = sum over output pixels of dy[pixel][o] *
 * x[pixel at tap][i], in f32 with AVX-512, and in bf16 if the processor has vdpbf16ps.
 *
 * It is a matrix product over pixels. A block of pixels is packed: a panel holds 16 channels, a
 * line of 64 bytes in it those channels of one pixel (f32) or of two, interleaved (bf16). dy is
 * packed once per block, x once per block and tap, so that stride and padding only change the row
 * of x (or make it a row of zeros). The kernel keeps 4 x 64 results in registers, reads the lines
 * of x directly and broadcasts words of dy. The blocking follows Goto and van de Geijn 2008:
 * packed x of one group of channels stays in the L1 cache, packed dy in L2. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Memory of one call: the pixels of a block, a row of zeros for windows outside the picture, the
 * packed dy of all outputs, and the packed x of one group of input channels. conv_weight.c calls
 * weight_run() for a range of pixels and of units; a unit is one tap of one group of inputs, so dy
 * is packed once per block and x once per block and unit.
 *
 * Sums of one block are made in registers from zero and added to dw in memory, block after
 * block. */

/* BLOCK lines are at most 2 * BLOCK pixels. */
enum { PANEL = 16, GROUP = 4, TILE = 4, LINE = 64, BLOCK = 128 };

/* Channels fill panels, so no line is partial. The set `avx512` has this kernel for f32 alone. */
bool LOOP(weight_supported)(const struct weight_part *part) {
#ifndef LOOP_HAS_BF16
    if (part->elem == ELEM_BF16)
        return false;
#endif
    return part->in % PANEL == 0 && part->out % PANEL == 0;
}

/* Pixels per line. A line has 16 words of 32 bits: an f32, or a pair of bf16. */
static size_t line_pixels(enum elem elem) {
    return elem == ELEM_BF16 ? 2 : 1;
}

/* A block's pixels: their rows in dy, and the position of their windows in x. */
struct block {
    size_t count, lines;
    const char *dy[2 * BLOCK], *x[2 * BLOCK];
    int32_t top[2 * BLOCK], left[2 * BLOCK];
    const char *rows[2 * BLOCK]; /* of x at one tap */
};

/* The rows of dy and of x that the next block packs first, and how much of them to prefetch during
 * a tile. */
struct ahead {
    const char *at[2], *end[2];
    size_t step[2];
};

/* Views of the scratch, which memory_of() cuts up, and what is prefetched at present. */
struct memory {
    struct block *block;
    char *zeros, *packed_dy, *packed_x;
    struct ahead ahead;
};

static size_t padded(size_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Distance between panels: an odd number of lines, so that they do not all map to one set of the
 * cache. */
static size_t panel_bytes(size_t lines) {
    return (lines | 1) * LINE;
}

/* One row for either tensor: as wide as the wider of x and dy. */
static size_t zero_bytes(const struct weight_part *p) {
    return padded((p->in > p->out ? p->in : p->out) * elem_size(p->elem));
}

/* The panels of packed x hold at most GROUP * PANEL channels, those of dy all outputs. */
size_t LOOP(weight_scratch)(const struct weight_part *part) {
    return padded(sizeof(struct block)) + zero_bytes(part) +
           (part->out / PANEL + GROUP) * panel_bytes(BLOCK);
}

/* The parts follow one another in the order of weight_scratch(). */
static struct memory memory_of(const struct weight_part *p) {
    struct memory m = {0};
    m.block = p->scratch;
    m.zeros = (char *)p->scratch + padded(sizeof(struct block));
    m.packed_dy = m.zeros + zero_bytes(p);
    m.packed_x = m.packed_dy + p->out / PANEL * panel_bytes(BLOCK);
    return m;
}

/* Walks the output pixels from BEGIN on, so that divisions are needed once a block. Addresses in x
 * may lie outside the tensor; find_tap() uses none of those. An odd pixel of bf16 gets a row of
 * zeros as its partner. */
static void find_pixels(const struct weight_part *p, struct block *b, size_t begin, size_t end,
                        const char *zeros) {
    size_t column = begin % p->out_width, row = begin / p->out_width % p->out_height;
    size_t image = begin / p->out_width / p->out_height;
    size_t bytes = elem_size(p->elem);
    b->count = end - begin;
    b->lines = (b->count + line_pixels(p->elem) - 1) / line_pixels(p->elem);
    for (size_t i = 0; i < b->count; i++) {
        b->top[i] = (int32_t)(row * p->stride) - (int32_t)p->pad;
        b->left[i] = (int32_t)(column * p->stride) - (int32_t)p->pad;
        b->dy[i] = (const char *)p->dy + (begin + i) * p->out * bytes;
        ptrdiff_t at = ((ptrdiff_t)(image * p->height) + b->top[i]) * (ptrdiff_t)p->width;
        b->x[i] = (const char *)p->x + (at + b->left[i]) * (ptrdiff_t)(p->in * bytes);
        if (++column == p->out_width) {
            column = 0;
            if (++row == p->out_height) {
                row = 0;
                image++;
            }
        }
    }
    if (b->count % line_pixels(p->elem) != 0)
        b->dy[b->count] = zeros;
}

/* Finds the pixels that the block reads at tap (ROW, COLUMN), from channel FIRST on. Negative
 * coordinates become large as unsigned numbers, so one comparison tests both borders. */
static void find_tap(const struct weight_part *p, struct block *b, size_t row, size_t column,
                     size_t first, const char *zeros) {
    ptrdiff_t offset =
        (ptrdiff_t)(((row * p->width + column) * p->in + first) * elem_size(p->elem));
    for (size_t i = 0; i < b->count; i++) {
        bool inside = (size_t)(b->top[i] + (int32_t)row) < p->height &&
                      (size_t)(b->left[i] + (int32_t)column) < p->width;
        b->rows[i] = inside ? b->x[i] + offset : zeros;
    }
    if (b->count % line_pixels(p->elem) != 0)
        b->rows[b->count] = zeros;
}

/* Copies one line for each row and panel; panels are panel_bytes() apart. */
static void pack_f32(const char *const *rows, size_t lines, size_t panels, char *to) {
    for (size_t k = 0; k < lines; k++)
        for (size_t panel = 0; panel < panels; panel++)
            _mm512_store_si512(to + panel * panel_bytes(lines) + k * LINE,
                               _mm512_loadu_si512(rows[k] + panel * LINE));
}

static __m512i load_half(const char *at) {
    return _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)at));
}

/* Interleaves two rows word by word: vdpbf16ps multiplies pairs, here two pixels of one channel,
 * and adds both products to one f32. The table names words of both rows, 32 and up being those of
 * the second. */
static void pack_bf16(const char *const *rows, size_t lines, size_t panels, char *to) {
    static const uint16_t order[64] = {
        0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
        11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,
        22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
    const __m512i low = _mm512_loadu_si512(order), high = _mm512_loadu_si512(order + 32);
    size_t stride = panel_bytes(lines);
    for (size_t k = 0; k < lines; k++) {
        const char *first = rows[2 * k], *second = rows[2 * k + 1];
        char *line = to + k * LINE;
        size_t panel = 0;
        for (; panel + 2 <= panels; panel += 2, line += 2 * stride) {
            __m512i a = _mm512_loadu_si512(first + panel * 32);
            __m512i b = _mm512_loadu_si512(second + panel * 32);
            _mm512_store_si512(line, _mm512_permutex2var_epi16(a, low, b));
            _mm512_store_si512(line + stride, _mm512_permutex2var_epi16(a, high, b));
        }
        if (panel < panels)
            _mm512_store_si512(line, _mm512_permutex2var_epi16(load_half(first + panel * 32), low,
                                                               load_half(second + panel * 32)));
    }
}

/* Packs PANELS panels of the LINES formed by ROWS. PANELS may be odd; then the last one is packed
 * alone. */
static void pack(const struct weight_part *p, const char *const *rows, size_t lines, size_t panels,
                 char *to) {
    if (p->elem == ELEM_F32)
        pack_f32(rows, lines, panels, to);
    else
        pack_bf16(rows, lines, panels, to);
}

/* sum + dy * x per lane: one product of f32, or two of bf16. */
VEC_INLINE __m512 multiply(__m512 sum, __m512i dy, __m512i x, enum elem elem) {
#ifdef LOOP_HAS_BF16
    if (elem == ELEM_BF16)
        return _mm512_dpbf16_ps(sum, (__m512bh)dy, (__m512bh)x);
#endif
    (void)elem;
    return _mm512_fmadd_ps((__m512)dy, (__m512)x, sum);
}

/* 4 outputs x PANELS * 16 inputs over all lines of a block, added to C or set in it. All indices of
 * SUM are constants after unrolling, so it lives in 16 registers at most. C is prefetched for
 * writing while the lines are read. */
VEC_INLINE void tile(const char *dy, const char *x, size_t lines, size_t panels, enum elem elem,
                     float *c, size_t stride, bool set) {
    __m512 sum[TILE][GROUP];
#pragma GCC unroll 4
    for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < panels; j++) {
            sum[i][j] = _mm512_setzero_ps();
            __builtin_prefetch(c + i * stride + j * PANEL, 1, 3);
        }
    for (size_t k = 0; k < lines; k++) {
        __m512i line[GROUP];
#pragma GCC unroll 4
        for (size_t j = 0; j < panels; j++)
            line[j] = _mm512_load_si512(x + j * panel_bytes(lines) + k * LINE);
#pragma GCC unroll 4
        for (size_t i = 0; i < TILE; i++) {
            int32_t word;
            memcpy(&word, dy + k * LINE + i * sizeof word, sizeof word);
            __m512i all = _mm512_set1_epi32(word);
#pragma GCC unroll 4
            for (size_t j = 0; j < panels; j++)
                sum[i][j] = multiply(sum[i][j], all, line[j], elem);
        }
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < panels; j++) {
            float *at = c + i * stride + j * PANEL;
            _mm512_storeu_ps(at, set ? sum[i][j] : _mm512_add_ps(sum[i][j], _mm512_loadu_ps(at)));
        }
}

/* Prefetches a share of what the next block will pack. */
static void fetch_ahead(struct ahead *ahead) {
    for (size_t i = 0; i < 2; i++) {
        if (ahead->at[i] == NULL || ahead->at[i] >= ahead->end[i])
            continue;
        size_t left = (size_t)(ahead->end[i] - ahead->at[i]);
        const char *end = ahead->at[i] + (ahead->step[i] < left ? ahead->step[i] : left);
        for (; ahead->at[i] < end; ahead->at[i] += LINE)
            _mm_prefetch(ahead->at[i], _MM_HINT_T1);
    }
}

/* All outputs for one packed group of inputs. Outputs are a multiple of PANEL, and so of TILE. */
VEC_INLINE void tiles(const struct weight_part *p, struct memory *m, size_t panels, enum elem elem,
                      float *c, bool set) {
    size_t lines = m->block->lines, stride = p->taps * p->in;
    for (size_t o = 0; o < p->out; o += TILE) {
        fetch_ahead(&m->ahead);
        const char *dy =
            m->packed_dy + o / PANEL * panel_bytes(lines) + o % PANEL * sizeof(int32_t);
        tile(dy, m->packed_x, lines, panels, elem, c + o * stride, stride, set);
    }
}

/* The last group of inputs may have fewer panels; each number is a constant of its own loop. */
VEC_INLINE void tiles_of(const struct weight_part *p, struct memory *m, size_t panels,
                         enum elem elem, float *c, bool set) {
    switch (panels) {
    case 4:
        tiles(p, m, 4, elem, c, set);
        break;
    case 3:
        tiles(p, m, 3, elem, c, set);
        break;
    case 2:
        tiles(p, m, 2, elem, c, set);
        break;
    default:
        tiles(p, m, 1, elem, c, set);
        break;
    }
}

/* One tap of one group of input channels. SET is true in the first block, which makes clearing dw
 * unnecessary. */
static void run_unit(const struct weight_part *p, struct memory *m, size_t unit, bool set) {
    size_t groups = weight_groups(p->in), tap = unit / groups;
    size_t first = unit % groups * WEIGHT_GROUP;
    size_t count = p->in - first < WEIGHT_GROUP ? p->in - first : WEIGHT_GROUP;
    float *c = p->dw + tap * p->in + first;
    find_tap(p, m->block, tap / p->kernel, tap % p->kernel, first, m->zeros);
    pack(p, m->block->rows, m->block->lines, count / PANEL, m->packed_x);
    if (p->elem == ELEM_F32)
        tiles_of(p, m, count / PANEL, ELEM_F32, c, set);
    else
        tiles_of(p, m, count / PANEL, ELEM_BF16, c, set);
}

/* Pixels [BEGIN, END) of the next block. Windows larger than a pixel read rows that are still in
 * the caches. The bytes are divided by the number of tiles, rounded up to lines. */
static struct ahead ahead_of(const struct weight_part *p, size_t begin, size_t end) {
    size_t tiles = (p->unit_end - p->unit_begin) * (p->out / TILE);
    size_t row[2] = {p->out * elem_size(p->elem), p->in * elem_size(p->elem)};
    const char *from[2] = {p->dy, p->x};
    struct ahead ahead = {0};
    size_t count = p->taps == 1 && p->stride == 1 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        ahead.at[i] = from[i] + begin * row[i];
        ahead.end[i] = from[i] + end * row[i];
        ahead.step[i] = ((end - begin) * row[i] / tiles + LINE) / LINE * LINE;
    }
    return ahead;
}

/* Blocks are of nearly equal size, instead of full ones and a rest. Without units there is nothing
 * to write. */
void LOOP(weight_run)(const struct weight_part *p) {
    struct memory m = memory_of(p);
    size_t most = BLOCK * line_pixels(p->elem);
    size_t total = p->end - p->begin, blocks = (total + most - 1) / most;
    if (p->unit_begin == p->unit_end)
        return;
    memset(m.zeros, 0, zero_bytes(p));
    for (size_t block = 0; block < blocks; block++) {
        size_t begin = p->begin + total * block / blocks;
        size_t end = p->begin + total * (block + 1) / blocks;
        size_t next = p->begin + total * (block + 2) / blocks;
        find_pixels(p, m.block, begin, end, m.zeros);
        m.ahead = ahead_of(p, end, next < p->end ? next : p->end);
        pack(p, m.block->dy, m.block->lines, p->out / PANEL, m.packed_dy);
        for (size_t unit = p->unit_begin; unit < p->unit_end; unit++)
            run_unit(p, &m, unit, block == 0);
    }
}
