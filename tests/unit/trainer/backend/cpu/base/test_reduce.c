#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/reduce.h"

#include <stdatomic.h>

enum { THREADS_MOST = 5, FENCE = 64, WIDEST = 33 };

struct work {
    int threads, sums;
    size_t rows, block, channels, grain, group;
    atomic_int made[5000]; /* how often a row was made, where they are */
    atomic_int seen[5000]; /* how often a row was added */
    atomic_size_t calls;
};

static float value_of(size_t row, size_t channel, int sum) {
    return (float)(row % 13) + (float)(channel % 7) * 16 + (float)sum * 128;
}

static void add(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    struct work *w = context;
    CU_ASSERT(thread >= 0 && thread < w->threads);
    CU_ASSERT(begin < end && end <= w->rows && end - begin <= w->block);
    atomic_fetch_add(&w->calls, 1);
    for (size_t row = begin; row < end; row++) {
        atomic_fetch_add(&w->seen[row], 1);
        for (int i = 0; i < w->sums; i++)
            for (size_t c = 0; c < w->channels; c++)
                sum[i][c] += value_of(row, c, i);
    }
}

static void make(void *context, int thread, size_t begin, size_t end) {
    struct work *w = context;
    CU_ASSERT(thread >= 0 && thread < w->threads);
    CU_ASSERT_EQUAL(begin % w->grain, 0);
    for (size_t row = begin; row < end; row++) {
        CU_ASSERT_EQUAL(atomic_load(&w->seen[row]), 0);
        atomic_fetch_add(&w->made[row], 1);
    }
}

static void check_totals(const struct work *w, const double *const *totals) {
    for (int i = 0; i < w->sums; i++)
        for (size_t c = 0; c < w->channels; c++) {
            double expected = 0;
            for (size_t row = 0; row < w->rows; row++)
                expected += (double)value_of(row, c, i);
            CU_ASSERT_EQUAL(totals[i][c], expected);
        }
}

static void check(struct work *w) {
    const struct cpu cpu = {.threads = w->threads};
    size_t bytes = reduce_scratch(&cpu, w->channels, w->sums);
    char *scratch = aligned_alloc(BACKEND_ALIGNMENT, backend_aligned(bytes) + FENCE);
    const double *totals[REDUCE_SUMS_MAX] = {NULL};
    struct reduce reduce = {.cpu = &cpu,
                            .rows = w->rows,
                            .block = w->block,
                            .grain = w->grain,
                            .group = w->group,
                            .make = w->group > 0 ? make : NULL,
                            .channels = w->channels,
                            .sums = w->sums,
                            .add = add,
                            .context = w,
                            .scratch = scratch};
    CU_ASSERT_PTR_NOT_NULL_FATAL(scratch);
    memset(scratch, 0x7f, backend_aligned(bytes) + FENCE);
    for (size_t row = 0; row < w->rows; row++) {
        atomic_store(&w->seen[row], 0);
        atomic_store(&w->made[row], 0);
    }
    reduce_run(&reduce, totals);
    for (size_t row = 0; row < w->rows; row++) {
        CU_ASSERT_EQUAL(atomic_load(&w->seen[row]), 1);
        CU_ASSERT_EQUAL(atomic_load(&w->made[row]), w->group > 0);
    }
    for (size_t i = bytes; i < backend_aligned(bytes) + FENCE; i++)
        CU_ASSERT_EQUAL(scratch[i], 0x7f);
    check_totals(w, totals);
    free(scratch);
}

static void every_row_is_added_once(void) {
    static const size_t rows[] = {1, 2, 31, 32, 33, 63, 64, 100, 129, 1000, 5000};
    static const size_t blocks[] = {1, 3, 64, 1024}, channels[] = {1, 16, 17, WIDEST};
    static struct work w;
    for (w.threads = 1; w.threads <= THREADS_MOST; w.threads++)
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
            for (size_t i = 0; i < 4; i++) {
                w.rows = rows[r];
                w.block = blocks[i];
                w.channels = channels[(i + r) % 4];
                w.sums = (int)(r % REDUCE_SUMS_MAX) + 1;
                check(&w);
            }
}

/* As many pieces as the rows say, and the threads do not: 32, or 96 where each has a sixteenth of a
 * block, of so many rows that they are multiples of the grain; one block each where that is longer.
 */
static void rows_are_cut_into_pieces(void) {
    static struct work w = {.sums = 1, .rows = 5000, .channels = 3};
    static const struct {
        size_t block, grain, group, pieces;
    } cases[] = {{1024, 0, 0, 32}, {64, 0, 0, 95}, {833, 0, 0, 95},   {834, 0, 0, 32},
                 {1024, 7, 4, 32}, {64, 7, 4, 90}, {1024, 5000, 1, 5}};
    static const int threads[] = {1, 3, 5, 40};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t t = 0; t < 4; t++) {
            w.threads = threads[t];
            w.block = cases[i].block;
            w.grain = cases[i].grain;
            w.group = cases[i].group;
            atomic_store(&w.calls, 0);
            check(&w);
            CU_ASSERT_EQUAL(atomic_load(&w.calls), cases[i].pieces);
        }
}

/* A hundred thousandth, added many times: in f32 alone they would be lost next to the 1. */
static void add_unequal(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    (void)context;
    (void)thread;
    for (size_t row = begin; row < end; row++)
        sum[0][0] += row == 0 ? 1 : 1e-8F;
}

static void blocks_are_added_in_double(void) {
    const struct cpu cpu = {.threads = 2};
    const double *totals[REDUCE_SUMS_MAX] = {NULL};
    struct reduce reduce = {
        .cpu = &cpu, .rows = 5000, .block = 8, .channels = 1, .sums = 1, .add = add_unequal};
    reduce.scratch = aligned_alloc(BACKEND_ALIGNMENT, backend_aligned(reduce_scratch(&cpu, 1, 1)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(reduce.scratch);
    reduce_run(&reduce, totals);
    CU_ASSERT_DOUBLE_EQUAL(totals[0][0], 1 + 4999 * 1e-8, 1e-6);
    CU_ASSERT(totals[0][0] > 1 + 4900 * 1e-8);
    free(reduce.scratch);
}

UNIT_SUITE("cpu.reduce", UNIT(every_row_is_added_once), UNIT(rows_are_cut_into_pieces),
           UNIT(blocks_are_added_in_double))
