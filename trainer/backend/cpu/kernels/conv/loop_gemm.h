/* Inner product of the own f32 convolutions: a tile of C [rows][columns] = A [rows][k] times B
 * [k][columns], with sums kept in registers over all k. For loop_*.c only, each of which gets the
 * tile of its own instruction set.
 *
 * A is stored by rows, element (i, k) at a[i * stride + k] (pixels of a picture in NHWC, tiles with
 * their channels), or by columns, at a[k * stride + i] (the summed dimension first, as in weight
 * gradients; packed panels have a stride of GEMM_ROWS). B is a panel [k][GEMM_COLUMNS], aligned to
 * 64 bytes. C is given row by row, so that rows may lie anywhere. All memory is the caller's;
 * nothing is allocated.
 *
 * With the tile registers of AMX both sides are split (loop_split.h): k is a multiple of GEMM_STEP,
 * padded with zeros on both sides, and A is always stored by rows.
 *
 * Tiles are computed in a few sizes only: memory of A must be readable as if there were
 * gemm_rows_read(rows) rows, whatever its content (by columns: that many neighbours of each k). A
 * row's sum goes over k in order and does not depend on neighbouring rows, so results do not depend
 * on how rows are cut into tiles or given to threads, only on how k is cut into calls. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_GEMM_H
#define TRAINER_BACKEND_CPU_KERNELS_CONV_LOOP_GEMM_H

#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#ifdef LOOP_HAS_AMX
#include "trainer/backend/cpu/kernels/conv/loop_split.h"
enum { GEMM_ROWS = 2 * SPLIT_SIDE, GEMM_STEP = SPLIT_STEP, GEMM_HALVES = SPLIT_PARTS };
#elif defined(__AVX512F__)
enum { GEMM_ROWS = 14, GEMM_STEP = 1, GEMM_HALVES = 2 };
#else
enum { GEMM_ROWS = 6, GEMM_STEP = 1, GEMM_HALVES = 2 };
#endif
enum { GEMM_COLUMNS = 2 * LANES };

/* Size of a side in memory in floats, and the padded k. */
static inline size_t gemm_floats(size_t values) {
    return values * GEMM_HALVES / 2;
}

static inline size_t gemm_steps(size_t k) {
    return (k + GEMM_STEP - 1) / GEMM_STEP * GEMM_STEP;
}

/* Long k is cut into pieces: a panel of B and the corresponding rows of A stay in the near
 * caches. */
enum { GEMM_DEPTH = 256 };

enum { GEMM_LINE = 64 }; /* bytes */

struct gemm_tile {
    const float *a;
    size_t stride;
    const float *b;
    size_t k;
    float *const *c; /* `rows` pointers, to the tile's first column */
    size_t rows;     /* 1 to GEMM_ROWS */
    bool half;       /* only the first LANES columns are written */
    bool add;        /* add to what C holds */
    /* Then, in this order and each unless NULL or false: bias[column] is added, and the rows of
     * `side`, laid out as C's; then the ReLU is applied. */
    const float *bias;
    const float *const *side;
    bool relu;
    /* Memory that will be read soon: this many consecutive cache lines are prefetched at both
     * places, one of each per k. All at once they would delay the loads of the products. */
    const char *soon[2];
    size_t soon_lines;
};

/* A tile with memory for its rows of C and of the summands. */
struct gemm_slot {
    struct gemm_tile tile;
    float *c[GEMM_ROWS];
    const float *side[GEMM_ROWS];
};

/* The tiles of a call, one after the other: gemm_next() is filled and multiplied. With AMX its
 * sums may stay here until the next tile's products hide the work on them. Sums are read back soon
 * and with the same widths as they were written: otherwise the processor stalls. */
struct gemm_queue {
#ifdef LOOP_HAS_AMX
    _Alignas(GEMM_LINE) float sums[GEMM_ROWS][GEMM_COLUMNS];
    struct gemm_slot slots[2];
    size_t current;
    bool waits; /* the sums of the other slot are pending */
#else
    struct gemm_slot slot;
#endif
};

void LOOP(gemm_begin)(struct gemm_queue *queue);
void LOOP(gemm_rows)(struct gemm_queue *queue);
void LOOP(gemm_columns)(struct gemm_queue *queue);
void LOOP(gemm_end)(struct gemm_queue *queue);

VEC_INLINE struct gemm_slot *gemm_next(struct gemm_queue *queue) {
#ifdef LOOP_HAS_AMX
    struct gemm_slot *slot = &queue->slots[queue->current];
#else
    struct gemm_slot *slot = &queue->slot;
#endif
    slot->tile = (struct gemm_tile){.c = slot->c};
    return slot;
}

/* What follows complete sums; the branches of ANY would cost a short tile a fifth of its time. */
enum gemm_end { GEMM_STORE, GEMM_ADD, GEMM_ANY };

/* For a tile that has sums of COUNT rows. */
VEC_INLINE enum gemm_end gemm_end_of(const struct gemm_tile *t, size_t count) {
    if (t->rows != count || t->half || t->bias != NULL || t->side != NULL || t->relu)
        return GEMM_ANY;
    return t->add ? GEMM_ADD : GEMM_STORE;
}

/* All rows and columns, stored or added. */
VEC_INLINE void gemm_put(float *c, size_t part, vecf sum, enum gemm_end end) {
    if (end == GEMM_ADD)
        sum += vec_load(c, part * LANES, ELEM_F32);
    vec_store(c, part * LANES, sum, ELEM_F32);
}

/* Finishes the sums of a row. */
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

/* Prefetches a row of C, or of a summand, which is needed at the end. */
VEC_INLINE void gemm_prefetch_row(const float *row, bool writes) {
    for (size_t at = 0; at < GEMM_COLUMNS; at += GEMM_LINE / sizeof(float))
        if (writes)
            __builtin_prefetch(row + at, 1);
        else
            __builtin_prefetch(row + at, 0);
}

/* Prefetches BYTES of consecutive memory. */
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
