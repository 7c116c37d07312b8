/* Per-channel sums over many rows, on all threads. The rows are cut into equal pieces; their number
 * depends only on the number of rows and which threads take as they become free. A piece's rows are
 * summed in f32 by blocks and the blocks in double; the pieces' totals are added in order. So the
 * result does not depend on the number of threads, and its error hardly on the number of rows. */
#ifndef TRAINER_BACKEND_CPU_BASE_REDUCE_H
#define TRAINER_BACKEND_CPU_BASE_REDUCE_H

#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

/* Pieces of few rows, where totals would cost as much as the rows, and of many: numbers that most
 * numbers of threads divide. */
enum { REDUCE_ROWS = 1024, REDUCE_SUMS_MAX = 3, REDUCE_PIECES_LEAST = 32, REDUCE_PIECES_MOST = 96 };

struct reduce {
    const struct cpu *cpu;
    size_t rows, block; /* block: rows of one f32 sum */
    size_t grain;       /* pieces are multiples of this; 0: 1 */
    size_t group;       /* pieces that a thread takes together; 0: 1 */
    size_t channels;
    int sums; /* sums a channel: at most REDUCE_SUMS_MAX */
    /* NULL, or computes the rows [begin, end) of a group before they are added. */
    void (*make)(void *context, int thread, size_t begin, size_t end);
    /* Adds rows [begin, end) into sum[i][channel]. */
    void (*add)(void *context, int thread, float *const *sum, size_t begin, size_t end);
    void *context;
    char *scratch; /* reduce_scratch() bytes, aligned to 64 */
};

/* Returns their number. */
size_t reduce_pieces(const struct reduce *reduce);
size_t reduce_scratch(const struct cpu *cpu, size_t channels, int sums);
/* The totals are in RET[i][channel], in the scratch, until that is reused. */
void reduce_run(const struct reduce *reduce, const double *ret[REDUCE_SUMS_MAX]);

/* Partial sums of equal length, which threads made of different rows. */
struct parts {
    const struct cpu *cpu;
    float *first; /* the first part's values, and the result; aligned to 64 */
    char *others; /* the others', parts_stride(values) bytes apart */
    size_t values, parts;
};

static inline size_t parts_stride(size_t values) {
    return backend_aligned(values * sizeof(float));
}

static inline float *parts_of(const struct parts *parts, size_t number) {
    return number == 0
               ? parts->first
               : (float *)(void *)(parts->others + parts_stride(parts->values) * (number - 1));
}

/* Adds the others to the first, in order and on all threads. */
void parts_add(const struct parts *parts);

#endif
