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
 * With the tile registers of AMX both sides are split (loop_split.h): k is a multiple of GEMM_STEP,
 * filled up with zeros on both sides, and there are no columns of A.
 *
 * A tile is worked out in a few sizes alone: memory of A must be readable as if there were
 * gemm_rows_read(rows) rows, whatever is there (columns: that many neighbours of each k). A
 * row's sum goes over k in order and does not hang on the rows beside it, so that results do not
 * depend on how rows are cut into tiles or given to threads, only on how k is cut into calls. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_GEMM_H
#define TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_GEMM_H

#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#if defined(__AMX_BF16__)
#include "trainer/backend/cpu/kernels/conv/loop_split.h"
enum { GEMM_ROWS = 2 * SPLIT_SIDE, GEMM_STEP = SPLIT_STEP, GEMM_HALVES = SPLIT_PARTS };
#elif defined(__AVX512F__)
enum { GEMM_ROWS = 14, GEMM_STEP = 1, GEMM_HALVES = 2 };
#else
enum { GEMM_ROWS = 6, GEMM_STEP = 1, GEMM_HALVES = 2 };
#endif
enum { GEMM_COLUMNS = 2 * LANES };

/* What a side takes of memory, in floats, and up to which k. */
static inline size_t gemm_floats(size_t values) {
    return values * GEMM_HALVES / 2;
}

static inline size_t gemm_steps(size_t k) {
    return (k + GEMM_STEP - 1) / GEMM_STEP * GEMM_STEP;
}

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

/* A tile with memory for its rows of C and of what is added. */
struct gemm_slot {
    struct gemm_tile tile;
    float *c[GEMM_ROWS];
    const float *side[GEMM_ROWS];
};

/* The tiles of a call, one after the other: gemm_next() is filled and multiplied. On the registers
 * of AMX its sums may be left here until the next one's products hide what is done with them. What
 * is written is read again soon: by the same widths, for the processor waits where they differ. */
struct gemm_queue {
#ifdef __AMX_BF16__
    _Alignas(GEMM_LINE) float sums[GEMM_ROWS][GEMM_COLUMNS];
    struct gemm_slot slots[2];
    size_t current;
    bool waits; /* sums of the other slot do */
#else
    struct gemm_slot slot;
#endif
};

void LOOP(gemm_begin)(struct gemm_queue *queue);
void LOOP(gemm_rows)(struct gemm_queue *queue);
void LOOP(gemm_columns)(struct gemm_queue *queue);
void LOOP(gemm_end)(struct gemm_queue *queue);

VEC_INLINE struct gemm_slot *gemm_next(struct gemm_queue *queue) {
#ifdef __AMX_BF16__
    struct gemm_slot *slot = &queue->slots[queue->current];
#else
    struct gemm_slot *slot = &queue->slot;
#endif
    slot->tile = (struct gemm_tile){.c = slot->c};
    return slot;
}

/* What is done with sums that are complete; the tests of ANY would cost a short tile a fifth of its
 * time. */
enum gemm_end { GEMM_STORE, GEMM_ADD, GEMM_ANY };

/* Of a tile that has sums of COUNT rows. */
VEC_INLINE enum gemm_end gemm_end_of(const struct gemm_tile *t, size_t count) {
    if (t->rows != count || t->half || t->bias != NULL || t->side != NULL || t->relu)
        return GEMM_ANY;
    return t->add ? GEMM_ADD : GEMM_STORE;
}

/* All rows and columns, as they are or added. */
VEC_INLINE void gemm_put(float *c, size_t part, vecf sum, enum gemm_end end) {
    if (end == GEMM_ADD)
        sum += vec_load(c, part * LANES, ELEM_F32);
    vec_store(c, part * LANES, sum, ELEM_F32);
}

/* What becomes of a row's sums. */
VEC_INLINE void gemm_finish(const struct gemm_tile *t, size_t row, size_t part, vecf sum) {
    float *c = t->c[row] + part * LANES;
    if (t->add)
        sum += vec_load(c, 0, ELEM_F32);
    if (t->bias != NULL)
        sum += vec_load(t->bias, part * LANES, ELEM_F32);
    if (t->side != NULL)
        sum += vec_load(t->side[row], part * LANES, ELEM_F32);
    vec_store(c, 0, t->relu ? vec_relu(sum) : sum, ELEM_F32);
}

/* A row of C, or of what is added to it, is wanted at the end. */
VEC_INLINE void gemm_prefetch_row(const float *row, bool writes) {
    for (size_t at = 0; at < GEMM_COLUMNS; at += GEMM_LINE / sizeof(float))
        if (writes)
            __builtin_prefetch(row + at, 1);
        else
            __builtin_prefetch(row + at, 0);
}

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
