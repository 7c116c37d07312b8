#include "trainer/backend/cpu/base/reduce.h"

/* Scratch: the pieces' totals in double, then each thread's block of sums in float. */
static size_t padded(size_t channels) {
    return (channels + 15) / 16 * 16;
}

size_t reduce_scratch(const struct cpu *cpu, size_t channels, int sums) {
    return padded(channels) * (size_t)sums *
           (REDUCE_PIECES_MOST * sizeof(double) + (size_t)cpu->threads * sizeof(float));
}

static double *totals_of(const struct reduce *r, size_t piece) {
    return (double *)(void *)r->scratch + padded(r->channels) * (size_t)r->sums * piece;
}

/* A piece of many rows has at least a sixteenth of a block. */
enum { BLOCK_SHARES = 16 };

/* Rounded up to whole grains; only the last piece may be shorter. */
static size_t piece_rows(const struct reduce *r) {
    size_t grain = r->grain > 0 ? r->grain : 1;
    bool many = r->rows * BLOCK_SHARES >= r->block * REDUCE_PIECES_MOST;
    return cpu_divided(cpu_divided(r->rows, many ? REDUCE_PIECES_MOST : REDUCE_PIECES_LEAST),
                       grain) *
           grain;
}

size_t reduce_pieces(const struct reduce *r) {
    return cpu_divided(r->rows, piece_rows(r));
}

static size_t row_of(const struct reduce *r, size_t piece) {
    size_t row = piece * piece_rows(r);
    return row < r->rows ? row : r->rows;
}

static void add_piece(const struct reduce *r, int thread, size_t piece) {
    size_t stride = padded(r->channels), count = stride * (size_t)r->sums;
    size_t begin = row_of(r, piece), end = row_of(r, piece + 1);
    double *totals = totals_of(r, piece);
    float *block = (float *)(void *)totals_of(r, REDUCE_PIECES_MOST) + count * (size_t)thread;
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

static size_t group_of(const struct reduce *r) {
    return r->group > 0 ? r->group : 1;
}

/* Pieces of a group are made together and summed while they are in the cache. */
static void add_group(void *context, int thread, size_t group) {
    const struct reduce *r = context;
    size_t begin = group * group_of(r), end = begin + group_of(r);
    end = end < reduce_pieces(r) ? end : reduce_pieces(r);
    if (r->make != NULL)
        r->make(r->context, thread, row_of(r, begin), row_of(r, end));
    for (size_t piece = begin; piece < end; piece++)
        add_piece(r, thread, piece);
}

/* Adds the totals of all pieces to those of the first. */
static void add_totals(void *context, struct share share) {
    const struct reduce *r = context;
    size_t begin, end;
    share_range(share, padded(r->channels) * (size_t)r->sums, BACKEND_ALIGNMENT, &begin, &end);
    double *first = totals_of(r, 0);
    for (size_t piece = 1; piece < reduce_pieces(r); piece++) {
        const double *totals = totals_of(r, piece);
        for (size_t i = begin; i < end; i++)
            first[i] += totals[i];
    }
}

void reduce_run(const struct reduce *r, const double *ret[REDUCE_SUMS_MAX]) {
    parallel_units(r->cpu->threads, cpu_divided(reduce_pieces(r), group_of(r)), add_group,
                   (void *)r);
    parallel_run(r->cpu->threads, add_totals, (void *)r);
    for (int i = 0; i < r->sums; i++)
        ret[i] = totals_of(r, 0) + padded(r->channels) * (size_t)i;
}

/* Part by part: each pass over the thread's range adds one more. */
static void add_share(void *context, struct share share) {
    const struct parts *p = context;
    size_t begin, end;
    share_range(share, p->values, BACKEND_ALIGNMENT, &begin, &end);
    for (size_t i = 1; i < p->parts; i++)
        p->cpu->loops->pointwise(POINTWISE_ADD, p->first, parts_of(p, i), ELEM_F32, p->first, begin,
                                 end);
}

void parts_add(const struct parts *parts) {
    if (parts->parts > 1)
        parallel_run(parts->cpu->threads, add_share, (void *)parts);
}
