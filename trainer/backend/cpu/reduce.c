#include "cpu/reduce.h"

/* A thread's part of the scratch: totals in double, then a block's sums in float. */
static size_t padded(size_t channels) {
    return (channels + 15) / 16 * 16;
}

static size_t thread_bytes(size_t channels, int sums) {
    return padded(channels) * (size_t)sums * (sizeof(double) + sizeof(float));
}

size_t reduce_scratch(const struct cpu *cpu, size_t channels, int sums) {
    return thread_bytes(channels, sums) * (size_t)cpu->threads;
}

static double *totals_of(const struct reduce *r, int thread) {
    return (double *)(void *)(r->scratch + thread_bytes(r->channels, r->sums) * (size_t)thread);
}

static void add_share(void *context, struct share share) {
    const struct reduce *r = context;
    size_t stride = padded(r->channels), count = stride * (size_t)r->sums, begin, end;
    double *totals = totals_of(r, share.index);
    float *block = (float *)(void *)(totals + count);
    float *sum[REDUCE_SUMS_MAX] = {0};
    for (int i = 0; i < r->sums; i++)
        sum[i] = block + stride * (size_t)i;
    memset(totals, 0, count * sizeof(double));
    share_range(share, r->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row += r->block) {
        memset(block, 0, count * sizeof(float));
        r->add(r->context, share, sum, row, row + r->block < end ? row + r->block : end);
        for (size_t i = 0; i < count; i++)
            totals[i] += (double)block[i];
    }
}

void reduce_run(const struct reduce *r, const double *ret[REDUCE_SUMS_MAX]) {
    size_t stride = padded(r->channels), count = stride * (size_t)r->sums;
    double *first = totals_of(r, 0);
    /* Should the system give fewer threads than asked for, the others add nothing. */
    for (int thread = 1; thread < r->cpu->threads; thread++)
        memset(totals_of(r, thread), 0, count * sizeof(double));
    parallel_run(r->cpu->threads, add_share, (void *)r);
    for (int thread = 1; thread < r->cpu->threads; thread++) {
        const double *totals = totals_of(r, thread);
        for (size_t i = 0; i < count; i++)
            first[i] += totals[i];
    }
    for (int i = 0; i < r->sums; i++)
        ret[i] = first + stride * (size_t)i;
}
