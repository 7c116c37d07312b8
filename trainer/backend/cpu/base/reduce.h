/* Sums a channel over many rows, on all threads. The rows are cut into pieces of one size, equally
 * many for each thread where there are enough rows, which threads take as they become free; a
 * piece's rows are added in f32 by blocks and the blocks in double, and the pieces' totals are
 * added in order. So the result depends on the number of threads alone, and its error hardly on the
 * number of rows. */
#ifndef CPU_BASE_REDUCE_H
#define CPU_BASE_REDUCE_H

#include "cpu_base/context.h"
#include "cpu_base/parallel.h"

/* Pieces: at least, where threads are few. */
enum { REDUCE_ROWS = 1024, REDUCE_SUMS_MAX = 3, REDUCE_PIECES = 32 };

struct reduce {
    const struct cpu *cpu;
    size_t rows, block; /* block: rows of one f32 sum */
    size_t channels;
    int sums; /* sums a channel: at most REDUCE_SUMS_MAX */
    /* Adds rows [begin, end) into sum[i][channel]. */
    void (*add)(void *context, int thread, float *const *sum, size_t begin, size_t end);
    void *context;
    char *scratch; /* reduce_scratch() bytes, aligned to 64 */
};

size_t reduce_scratch(const struct cpu *cpu, size_t channels, int sums);
/* The totals lie in RET[i][channel], in the scratch, until that is used again. */
void reduce_run(const struct reduce *reduce, const double *ret[REDUCE_SUMS_MAX]);

#endif
