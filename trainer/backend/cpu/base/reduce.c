#include "cpu_base/reduce.h"

/* Scratch: the pieces' totals in double, then each thread's block of sums in float. */
static size_t padded(size_t channels) {
    return (channels + 15) / 16 * 16;
}

static size_t most_pieces(const struct cpu *cpu) {
    size_t threads = (size_t)cpu->threads;
    return (REDUCE_PIECES + threads - 1) / threads * threads;
}

size_t reduce_scratch(const struct cpu *cpu, size_t channels, int sums) {
    return padded(channels) * (size_t)sums *
           (most_pieces(cpu) * sizeof(double) + (size_t)cpu->threads * sizeof(float));
}

static double *totals_of(const struct reduce *r, size_t piece) {
    return (double *)(void *)r->scratch + padded(r->channels) * (size_t)r->sums * piece;
}

static size_t piece_rows(const struct reduce *r) {
    return (r->rows + most_pieces(r->cpu) - 1) / most_pieces(r->cpu);
}

static size_t pieces_of(const struct reduce *r) {
    return (r->rows + piece_rows(r) - 1) / piece_rows(r);
}

static void add_piece(void *context, int thread, size_t piece) {
    const struct reduce *r = context;
    size_t stride = padded(r->channels), count = stride * (size_t)r->sums;
    size_t begin = piece * piece_rows(r);
    size_t end = begin + piece_rows(r) < r->rows ? begin + piece_rows(r) : r->rows;
    double *totals = totals_of(r, piece);
    float *block = (float *)(void *)totals_of(r, most_pieces(r->cpu)) + count * (size_t)thread;
    float *sum[REDUCE_SUMS_MAX] = {0};
    for (int i = 0; i < r->sums; i++)
        sum[i] = block + stride * (size_t)i;
    memset(totals, 0, count * sizeof(double));
    for (size_t row = begin; row < end; row += r->block) {
        memset(block, 0, count * sizeof(float));
        r->add(r->context, thread, sum, row, row + r->block < end ? row + r->block : end);
        for (size_t i = 0; i < count; i++)
            totals[i] += (double)block[i];
    }
}

/* The first piece's totals become all pieces'. */
static void add_totals(void *context, struct share share) {
    const struct reduce *r = context;
    size_t begin, end;
    share_range(share, padded(r->channels) * (size_t)r->sums, BACKEND_ALIGNMENT, &begin, &end);
    double *first = totals_of(r, 0);
    for (size_t piece = 1; piece < pieces_of(r); piece++) {
        const double *totals = totals_of(r, piece);
        for (size_t i = begin; i < end; i++)
            first[i] += totals[i];
    }
}

void reduce_run(const struct reduce *r, const double *ret[REDUCE_SUMS_MAX]) {
    parallel_units(r->cpu->threads, pieces_of(r), add_piece, (void *)r);
    parallel_run(r->cpu->threads, add_totals, (void *)r);
    for (int i = 0; i < r->sums; i++)
        ret[i] = totals_of(r, 0) + padded(r->channels) * (size_t)i;
}
