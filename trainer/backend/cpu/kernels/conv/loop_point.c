/* 1x1 convolution of stride 1 in bf16: a matrix product of pixels and weights. A block of rows
 * stays in the L2 cache and is multiplied by all weights; the kernel keeps 7 rows x 64 outputs in
 * registers. Products leave memory bandwidth unused: meanwhile the next data is prefetched, two
 * cache lines at each step over the inputs. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#ifndef __AVX512BF16__

bool LOOP(point_supported)(const struct point *p) {
    (void)p;
    return false;
}

void LOOP(point_run)(const struct point *p, size_t begin, size_t end) {
    (void)p;
    (void)begin;
    (void)end;
}

#else

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

/* COUNT rows x 64 outputs over all inputs. */
VEC_INLINE void product(const struct point *p, const char *rows, const char *weights, size_t count,
                        uint16_t *y, struct tile_soon soon) {
    struct tile tile;
    tile_products(&tile, rows, p->in * sizeof(uint16_t), weights, p->in / 2, count, true, soon);
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
    const char *rows = (const char *)p.x + begin * p.in * sizeof(uint16_t);
    uint16_t *y = (uint16_t *)p.y + begin * p.out + out;
    struct tile_soon soon = ahead_take(ahead, p.in);
#define TOGETHER(count) product(&p, rows, weights, count, y, soon)
#define EACH(i) product(&p, rows + (i)*p.in * 2, weights, 1, y + (i)*p.out, soon)
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

#endif
