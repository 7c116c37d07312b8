#include "trainer/comm/shares.h"

#include "trainer/comm/ordered_sum.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { WIDTH = sizeof(float), LEAST = 1024 /* elements of a share in one round */ };

/* A part of the values, in elements. */
struct span {
    size_t first, count;
};

void shares_memory_done(struct shares_memory *m) {
    free(m->bytes);
    free(m->pieces);
    *m = (struct shares_memory){0};
}

/* Elements of each share that one round moves. */
static size_t round_size(const struct shares_exchange *x) {
    const size_t size = SHARES_ROUND_BYTES / WIDTH / (size_t)x->ranks;
    return size < LEAST ? LEAST : size;
}

static size_t rounds(const struct shares_exchange *x, const struct comm_shares *shares) {
    size_t largest = 1;
    for (int i = 0; i < x->ranks; i++)
        if (shares->bounds[i + 1] - shares->bounds[i] > largest)
            largest = shares->bounds[i + 1] - shares->bounds[i];
    return (largest + round_size(x) - 1) / round_size(x);
}

/* What round ROUND moves of the share of RANK. */
static struct span span_of(const struct shares_exchange *x, const struct comm_shares *shares,
                           int rank, size_t round) {
    const size_t end = shares->bounds[rank + 1];
    const size_t begin = shares->bounds[rank] + round * round_size(x);
    struct span span = {.first = begin < end ? begin : end};
    span.count = end - span.first < round_size(x) ? end - span.first : round_size(x);
    return span;
}

int shares_memory_need(const struct shares_exchange *x, size_t bytes, struct error *err) {
    struct shares_memory *m = x->memory;
    if (m->pieces == NULL)
        m->pieces = calloc((size_t)x->ranks, sizeof(*m->pieces));
    if (bytes > m->size) {
        free(m->bytes);
        m->size = 0;
        m->bytes = malloc(bytes);
        m->size = m->bytes != NULL ? bytes : 0;
    }
    return m->pieces == NULL || bytes > m->size ? error_no_memory(err, "sums over ranks") : 0;
}

static int sum_round(const struct shares_exchange *x, float *values,
                     const struct comm_shares *shares, size_t round, struct error *err) {
    const struct span own = span_of(x, shares, x->rank, round);
    if (shares_memory_need(x, (own.count * (size_t)x->ranks + 1) * WIDTH, err) != 0)
        return -1;
    for (int i = 0; i < x->ranks; i++) {
        struct comm_part *part = &x->parts[i];
        float *in = (float *)x->memory->bytes + (size_t)i * own.count;
        const bool adds = i < shares->workers;
        x->memory->pieces[i] = i == x->rank ? values + own.first : in;
        if (i == x->rank)
            continue;
        if (x->rank < shares->workers) {
            const struct span span = span_of(x, shares, i, round);
            part->out = values + span.first;
            part->out_size = span.count * WIDTH;
        }
        part->in = in;
        part->in_size = adds ? own.count * WIDTH : 0;
    }
    if (x->run(x->user, err) != 0)
        return -1;
    ordered_sum(values + own.first, x->memory->pieces, shares->workers, own.count, COMM_F32);
    return 0;
}

int shares_sum(const struct shares_exchange *x, float *values, const struct comm_shares *shares,
               struct error *err) {
    const size_t count = rounds(x, shares);
    for (size_t round = 0; round < count; round++)
        if (sum_round(x, values, shares, round, err) != 0)
            return -1;
    return 0;
}

static int spread_round(const struct shares_exchange *x, float *values,
                        const struct comm_shares *shares, size_t round, struct error *err) {
    const struct span own = span_of(x, shares, x->rank, round);
    for (int i = 0; i < x->ranks; i++) {
        const struct span span = span_of(x, shares, i, round);
        struct comm_part *part = &x->parts[i];
        if (i == x->rank)
            continue;
        part->out = values + own.first;
        part->out_size = i < shares->workers ? own.count * WIDTH : 0;
        part->in = values + span.first;
        part->in_size = x->rank < shares->workers ? span.count * WIDTH : 0;
    }
    return x->run(x->user, err);
}

int shares_spread(const struct shares_exchange *x, float *values, const struct comm_shares *shares,
                  struct error *err) {
    const size_t count = rounds(x, shares);
    for (size_t round = 0; round < count; round++)
        if (spread_round(x, values, shares, round, err) != 0)
            return -1;
    return 0;
}
