/* Inner product of loop_gemm.h on the tile registers of AMX (loop_split.h): four of them hold the
 * sums of 32 rows and 32 columns, or two those of 16 rows; the others hold two tiles of either
 * side. A result's sum is the same in both cases: groups of 32 values of k in order, for each of
 * them the six products in order. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

/* An f32 value is split into three bf16 parts, and a product needs six of the nine products of
 * parts (loop_split.h); the other three are below f32's precision. A tile instruction multiplies 16
 * rows by 16 columns over 32 values of depth.
 *
 * Storing sums goes through memory, since tile registers have no other way out, and adding them to
 * C in place would leave the multiplier idle. So the sums of a tile are stored to a buffer and
 * finished while the next tile multiplies (struct gemm_queue); gemm_end() finishes the last
 * ones. */

/* Registers: sums (row, column half), A, B. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define A_0 4
#define A_1 5
#define B_0 6
#define B_1 7

/* Loads of 16 rows of 64 bytes: of A for a half of the rows, of B for a half of the columns, and
 * the part of the split. */
#define LOAD_A(row, part) _tile_loadd(A_##row, a + (row)*a_row + (part)*SPLIT_TILE, SPLIT_LINE)
#define LOAD_B(half, part)                                                                         \
    _tile_loadd(B_##half, b + (part)*SPLIT_PANEL_PART + (half)*SPLIT_TILE, SPLIT_LINE)
#define ADD(row, half) _tile_dpbf16ps(SUM_##row##half, A_##row, B_##half)

/* Work beside the products, part of it with each of the six: rows of the pending sums are
 * finished, and memory is prefetched. */
struct beside {
    size_t rows, lines; /* with each of them */
    size_t waiting, row, line;
};

enum { SIX = 6 };

/* Divides the work evenly over all turns, rounded up, so that nothing is left after the last. */
static struct beside beside_of(const struct gemm_tile *t, size_t waiting) {
    size_t turns = SIX * (t->k / SPLIT_STEP);
    struct beside b = {.rows = (GEMM_ROWS + turns - 1) / turns,
                       .lines = (t->soon_lines + turns - 1) / turns,
                       .waiting = waiting};
    return b;
}

/* END is a constant: the common ends, storing and adding, have loops without tests. */
VEC_INLINE void finish_row(const struct gemm_tile *t, const float *sums, size_t row,
                           enum gemm_end end) {
    vecf first = vec_load(sums, row * GEMM_COLUMNS, ELEM_F32);
    vecf second = vec_load(sums, row * GEMM_COLUMNS + LANES, ELEM_F32);
    if (end != GEMM_ANY) {
        gemm_put(t->c[row], 0, first, end);
        gemm_put(t->c[row], 1, second, end);
        return;
    }
    gemm_finish(t, row, 0, first);
    if (!t->half)
        gemm_finish(t, row, 1, second);
}

/* Multiplies T while the sums of LAST are pending. Rows of C and of the side are prefetched for the
 * tile that is being multiplied, which is finished one tile later. */
VEC_INLINE void turn(const struct gemm_tile *t, const struct gemm_tile *last, const float *sums,
                     struct beside *b, enum gemm_end end) {
    for (size_t i = 0; i < b->rows; i++, b->row++) {
        if (b->row < b->waiting)
            finish_row(last, sums, b->row, end);
        if (b->row >= t->rows)
            continue;
        gemm_prefetch_row(t->c[b->row], true);
        if (t->side != NULL)
            gemm_prefetch_row(t->side[b->row], false);
    }
    for (size_t i = 0; i < b->lines && b->line < t->soon_lines; i++, b->line++) {
        __builtin_prefetch(t->soon[0] + b->line * GEMM_LINE, 0, 2);
        __builtin_prefetch(t->soon[1] + b->line * GEMM_LINE, 0, 2);
    }
}

/* One of the six products for all registers of sums. */
#define ADD_TWO(row)                                                                               \
    do {                                                                                           \
        ADD(row, 0);                                                                               \
        ADD(row, 1);                                                                               \
    } while (0)
#define ADD_ALL(two)                                                                               \
    do {                                                                                           \
        ADD_TWO(0);                                                                                \
        if (two)                                                                                   \
            ADD_TWO(1);                                                                            \
        turn(t, last, q->sums[0], &beside, end);                                                   \
    } while (0)
#define LOAD_A_ALL(part, two)                                                                      \
    do {                                                                                           \
        LOAD_A(0, part);                                                                           \
        if (two)                                                                                   \
            LOAD_A(1, part);                                                                       \
    } while (0)
#define LOAD_B_TWO(part)                                                                           \
    do {                                                                                           \
        LOAD_B(0, part);                                                                           \
        LOAD_B(1, part);                                                                           \
    } while (0)

/* The order of the six products loads each part of A once, and two parts of B twice; small terms
 * and large ones are added to the same sums. The depth K is a multiple of SPLIT_STEP, padded by the
 * packing. */
VEC_INLINE void products(const struct gemm_queue *q, bool two, enum gemm_end end) {
    const struct gemm_tile *t = &q->slots[q->current].tile;
    const struct gemm_tile *last = &q->slots[1 - q->current].tile;
    const char *a = (const char *)t->a, *b = (const char *)t->b;
    size_t a_row = SPLIT_SIDE * t->stride * sizeof(float), depth = t->k;
    struct beside beside = beside_of(t, q->waits ? last->rows : 0);
    _tile_zero(SUM_00);
    _tile_zero(SUM_01);
    if (two) {
        _tile_zero(SUM_10);
        _tile_zero(SUM_11);
    }
    for (size_t k = 0; k < depth; k += SPLIT_STEP, a += SPLIT_ROWS_STEP, b += SPLIT_PANEL_STEP) {
        LOAD_A_ALL(0, two);
        LOAD_B_TWO(0);
        ADD_ALL(two);
        LOAD_B_TWO(1);
        ADD_ALL(two);
        LOAD_B_TWO(2);
        ADD_ALL(two);
        LOAD_A_ALL(1, two);
        LOAD_B_TWO(1);
        ADD_ALL(two);
        LOAD_B_TWO(0);
        ADD_ALL(two);
        LOAD_A_ALL(2, two);
        ADD_ALL(two);
    }
}

/* Leaves its sums pending: the work on them is hidden by the next tile's products. */
static void leave(struct gemm_queue *q, bool two) {
    enum { ROW = sizeof(q->sums[0]) };
    _tile_stored(SUM_00, q->sums[0], ROW);
    _tile_stored(SUM_01, &q->sums[0][SPLIT_SIDE], ROW);
    if (two) {
        _tile_stored(SUM_10, q->sums[SPLIT_SIDE], ROW);
        _tile_stored(SUM_11, &q->sums[SPLIT_SIDE][SPLIT_SIDE], ROW);
    }
    q->current = 1 - q->current;
    q->waits = true;
}

/* Selects the loop by how the pending tile ends, not the current one. */
VEC_INLINE void products_of(struct gemm_queue *q, bool two) {
    const struct gemm_tile *last = &q->slots[1 - q->current].tile;
    switch (q->waits ? gemm_end_of(last, last->rows) : GEMM_ANY) {
    case GEMM_STORE:
        products(q, two, GEMM_STORE);
        break;
    case GEMM_ADD:
        products(q, two, GEMM_ADD);
        break;
    case GEMM_ANY:
        products(q, two, GEMM_ANY);
        break;
    }
    leave(q, two);
}

/* More than 16 rows take all four registers of sums; fewer leave two of them alone. */
void LOOP(gemm_rows)(struct gemm_queue *queue) {
    /* The compiler does not know that tile loads read memory. */
    __asm__ volatile("" ::: "memory");
    if (queue->slots[queue->current].tile.rows > SPLIT_SIDE)
        products_of(queue, true);
    else
        products_of(queue, false);
}

/* Configures registers of 16 rows of 64 bytes (Intel's manual, LDTILECFG). */
void LOOP(gemm_begin)(struct gemm_queue *queue) {
#define EIGHT(value) value, value, value, value, value, value, value, value
    /* GCC assumes that the instruction reads only 8 bytes, and could drop stores to a local
     * variable. */
    _Alignas(SPLIT_LINE) static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .row_bytes = {EIGHT(SPLIT_LINE)}, .rows = {EIGHT(SPLIT_SIDE)}};
#undef EIGHT
    _tile_loadconfig(&config);
    queue->current = 0;
    queue->waits = false;
}

/* Also releases the registers, because the kernel saves them at each switch of threads while they
 * are in use. */
void LOOP(gemm_end)(struct gemm_queue *queue) {
    const struct gemm_tile *last = &queue->slots[1 - queue->current].tile;
    for (size_t row = 0; queue->waits && row < last->rows; row++)
        finish_row(last, queue->sums[0], row, GEMM_ANY);
    _tile_release();
}
