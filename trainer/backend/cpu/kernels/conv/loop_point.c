/* 1x1 convolution of stride 1 in bf16: a matrix product of pixels and weights. A block of rows
 * stays in the L2 cache and is multiplied by all weights; the kernel keeps 7 rows x 64 outputs in
 * registers. Products leave memory bandwidth unused: meanwhile the next data is prefetched, two
 * cache lines at each step over the inputs. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#include "trainer/backend/cpu/kernels/conv/loop_tile.h"

enum { ROWS = TILE_ROWS };

bool LOOP(point_supported)(const struct point *p) {
    return p->in % PACK_INS == 0 && p->out % TILE_OUTS == 0;
}

/* Ranges of memory to be prefetched line by line. */
struct ahead {
    const char *at[4], *end[4];
    size_t now, count;
};

static void ahead_add(struct ahead *ahead, const char *base, size_t bytes) {
    ahead->at[ahead->count] = base;
    ahead->end[ahead->count++] = base + bytes;
}

/* Returns the next LINES lines, if there are any. */
static struct tile_soon ahead_take(struct ahead *ahead, size_t lines) {
    while (ahead->now < ahead->count && ahead->at[ahead->now] >= ahead->end[ahead->now])
        ahead->now++;
    if (ahead->now == ahead->count)
        return (struct tile_soon){.at = ahead->end[0]};
    struct tile_soon soon = {.at = ahead->at[ahead->now], .step = 2 * (size_t)TILE_LINE};
    ahead->at[ahead->now] += lines * TILE_LINE;
    return soon;
}

/* Sums start with the bias and what is added: so these loads, too, are under way while the last
 * tile is written. A product with 1 is the shortest way from 16 bf16 to a sum. */
VEC_INLINE void start(struct tile *tile, const struct point *p, size_t row, size_t out,
                      size_t count) {
    tile_clear(tile, count);
    if (p->end.bias != NULL)
#pragma GCC unroll 4
        for (size_t j = 0; j < TILE_GROUP; j++) {
            __m512 bias = _mm512_loadu_ps(p->end.bias + out + j * 16);
#pragma GCC unroll 7
            for (size_t i = 0; i < count; i++)
                tile->sum[i][j] = bias;
        }
    if (p->end.side == NULL)
        return;
    const uint16_t *side = (const uint16_t *)p->end.side + row * p->out + out;
    __m512bh one = (__m512bh)_mm512_set1_epi32(0x3f80);
#pragma GCC unroll 7
    for (size_t i = 0; i < count; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < TILE_GROUP; j++) {
            const void *at = side + i * p->out + j * 16;
            __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(at));
            tile->sum[i][j] = _mm512_dpbf16_ps(tile->sum[i][j], (__m512bh)words, one);
        }
    /* The next rows are prefetched. */
    side += count * p->out;
#pragma GCC unroll 7
    for (size_t i = 0; i < count; i++) {
        _mm_prefetch(side + i * p->out, _MM_HINT_T0);
        _mm_prefetch(side + i * p->out + TILE_OUTS / 2, _MM_HINT_T0);
    }
}

/* COUNT rows from ROW on x 64 outputs from OUT on, over all inputs. */
VEC_INLINE void product(const struct point *p, size_t row, size_t out, const char *weights,
                        size_t count, struct tile_soon soon) {
    struct tile tile;
    const size_t bytes = p->in * sizeof(uint16_t);
    const char *rows = (const char *)p->x + row * bytes;
    uint16_t *y = (uint16_t *)p->y + row * p->out + out;
    start(&tile, p, row, out, count);
    tile_products(&tile, rows, bytes, weights, p->in / 2, count, true, soon);
    if (p->end.relu)
#pragma GCC unroll 7
        for (size_t i = 0; i < count; i++)
#pragma GCC unroll 4
            for (size_t j = 0; j < TILE_GROUP; j++) /* NaN stays, as the second of the two */
                tile.sum[i][j] = _mm512_max_ps(_mm512_setzero_ps(), tile.sum[i][j]);
#pragma GCC unroll 7
    for (size_t i = 0; i < count; i++)
#pragma GCC unroll 4
        for (size_t j = 0; j < TILE_GROUP; j++)
            _mm256_storeu_si256((__m256i *)(void *)(y + i * p->out + j * 16),
                                (__m256i)_mm512_cvtneps_pbh(tile.sum[i][j]));
}

/* Rows [begin, end), 7 at most. */
static void few_rows(const struct point *point, size_t begin, size_t end, const char *weights,
                     size_t out, struct ahead *ahead) {
    const struct point p = *point;
    struct tile_soon soon = ahead_take(ahead, p.in);
#define TOGETHER(count) product(&p, begin, out, weights, count, soon)
#define EACH(i) product(&p, begin + (i), out, weights, 1, soon)
    TILE_COUNTS(end - begin, TOGETHER, EACH)
}

void LOOP(point_run)(const struct point *p, size_t begin, size_t end) {
    size_t rows = end - begin, parts = (rows + ROWS - 1) / ROWS;
    size_t out_bytes = p->out * sizeof(uint16_t), in_bytes = p->in * sizeof(uint16_t);
    struct ahead ahead = {0};
    for (size_t i = 0; i < sizeof(p->soon) / sizeof(p->soon[0]); i++)
        if (p->soon[i] != NULL)
            ahead_add(&ahead, (const char *)p->soon[i] + begin * out_bytes, rows * out_bytes);
    size_t following = p->rows - end < rows ? p->rows - end : rows;
    ahead_add(&ahead, (const char *)p->x + end * in_bytes, following * in_bytes);
    const char *weights = p->weights;
    for (size_t out = 0; out < p->out; out += TILE_OUTS, weights += p->in * TILE_OUTS * 2)
        for (size_t part = 0; part < parts; part++)
            few_rows(p, begin + rows * part / parts, begin + rows * (part + 1) / parts, weights,
                     out, &ahead);
}
