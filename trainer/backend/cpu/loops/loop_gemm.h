/* The inner product of our own f32 convolutions: a tile of C [rows][columns] = A [rows][k] times
 * B [k][columns], whose sums stay in registers over all k. For loop_*.c alone, each of which gets
 * the tile of its own instruction set.
 *
 * A lies as rows, element (i, k) at a[i * stride + k] (pixels of a picture in NHWC, tiles with
 * their channels), or as columns, at a[k * stride + i] (what is summed over comes first, as in
 * weight gradients; packed panels have a stride of GEMM_ROWS). B is a panel
 * [k][GEMM_COLUMNS], aligned to 64 bytes. C is given row by row, so that rows may lie anywhere.
 * All is the caller's; nothing is allocated.
 *
 * A tile is worked out in a few sizes alone: memory of A must be readable as if there were
 * gemm_rows_read(rows) rows, whatever is there (columns: that many neighbours of each k). A
 * row's sum goes over k in order and does not hang on the rows beside it, so that results do not
 * depend on how rows are cut into tiles or given to threads, only on how k is cut into calls. */
#ifndef CPU_LOOPS_LOOP_GEMM_H
#define CPU_LOOPS_LOOP_GEMM_H

#include "cpu_loops/loop_names.h"
#include "cpu_loops/vec.h"

#if defined(__AVX512F__)
enum { GEMM_ROWS = 14 };
#else
enum { GEMM_ROWS = 6 };
#endif
enum { GEMM_COLUMNS = 2 * LANES };

/* How k is cut where it is long: a panel of B and the rows of A under it stay in the near caches.
 */
enum { GEMM_DEPTH = 256 };

enum { GEMM_LINE = 64 }; /* bytes */

struct gemm_tile {
    const float *a;
    size_t stride;
    const float *b;
    size_t k;
    float *const *c; /* `rows` of them, at the tile's first column */
    size_t rows;     /* 1 to GEMM_ROWS */
    bool half;       /* only the first LANES columns are written */
    bool add;        /* to what C holds */
    /* Then, in this order and each unless NULL or false: bias[column] is added, and `side`'s rows,
     * which lie as C's do; what is left is rectified. */
    const float *bias;
    const float *const *side;
    bool relu;
    /* What will be read soon: so many lines of the cache behind each other are asked for at both
     * places, with each k one of each. All at once they would hold up the loads of the products. */
    const char *soon[2];
    size_t soon_lines;
};

void LOOP(gemm_rows)(const struct gemm_tile *tile);
void LOOP(gemm_columns)(const struct gemm_tile *tile);

/* Of BYTES that lie behind each other. */
static inline void gemm_ask(struct gemm_tile *tile, const void *from, size_t bytes) {
    size_t lines = (bytes + GEMM_LINE - 1) / GEMM_LINE;
    tile->soon_lines = (lines + 1) / 2;
    tile->soon[0] = from;
    tile->soon[1] = tile->soon[0] + tile->soon_lines * GEMM_LINE;
}

static inline size_t gemm_rows_read(size_t rows) {
    return rows > 10 && GEMM_ROWS > 10 ? (size_t)GEMM_ROWS
           : rows > 8                  ? 10
           : rows > 6                  ? 8
           : rows > 4                  ? 6
           : rows > 2                  ? 4
                                       : 2;
}

#endif
