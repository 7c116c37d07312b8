#include "trainer/comm/half_sum.h"

#include "trainer/comm/half.h"

#include <stdint.h>

/* Elements that stay in the nearest cache while all ranks' are added. */
enum { BLOCK = 1024, WIDTH = sizeof(uint16_t) };

/* What a round works on. */
struct half_round {
    const struct shares_exchange *x;
    enum comm_type type;
    float *values;
    size_t count;
    uint16_t *out; /* [count]; this rank's values, then the sums of all */
    uint16_t *in;
};

/* TO[i] = SCALE times the sum of the pieces of all ranks. */
static void add_up(const struct half_round *r, float *to, size_t count, float scale) {
    float sum[BLOCK], next[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t n = count - at < BLOCK ? count - at : BLOCK;
        half_widen(sum, (const uint16_t *)r->x->memory->pieces[0] + at, n, r->type);
        for (int rank = 1; rank < r->x->ranks; rank++) {
            half_widen(next, (const uint16_t *)r->x->memory->pieces[rank] + at, n, r->type);
            for (size_t i = 0; i < n; i++)
                sum[i] += next[i];
        }
        for (size_t i = 0; i < n; i++)
            to[at + i] = sum[i] * scale;
    }
}

/* Two ranks exchange all they have, and each adds up. */
static int sum_whole(const struct half_round *r, struct error *err) {
    const struct shares_exchange *x = r->x;
    const int other = 1 - x->rank;
    const size_t bytes = r->count * WIDTH;
    x->parts[other] = (struct comm_part){r->out, bytes, r->in, bytes};
    if (x->run(x->user, err) != 0)
        return -1;
    x->memory->pieces[x->rank] = r->out;
    x->memory->pieces[other] = r->in;
    add_up(r, r->values, r->count, 1);
    return 0;
}

/* Sends each rank its share and awaits this one's of all others. */
static int exchange_shares(const struct half_round *r, size_t own, struct error *err) {
    const struct shares_exchange *x = r->x;
    for (int i = 0; i < x->ranks; i++) {
        uint16_t *at = r->out + shares_even_at(r->count, i, x->ranks);
        uint16_t *in = r->in + (size_t)i * own;
        x->memory->pieces[i] = i == x->rank ? at : in;
        if (i != x->rank)
            x->parts[i] = (struct comm_part){at, shares_even_size(r->count, i, x->ranks) * WIDTH,
                                             in, own * WIDTH};
    }
    return x->run(x->user, err);
}

/* Sends this rank's share to all others and awaits theirs. */
static int spread_shares(const struct half_round *r, size_t first, size_t own, struct error *err) {
    const struct shares_exchange *x = r->x;
    for (int i = 0; i < x->ranks; i++)
        if (i != x->rank)
            x->parts[i] = (struct comm_part){r->out + first, own * WIDTH,
                                             r->out + shares_even_at(r->count, i, x->ranks),
                                             shares_even_size(r->count, i, x->ranks) * WIDTH};
    return x->run(x->user, err);
}

/* Each rank adds up its share. */
static int sum_shares(const struct half_round *r, struct error *err) {
    const struct shares_exchange *x = r->x;
    const size_t first = shares_even_at(r->count, x->rank, x->ranks);
    const size_t own = shares_even_size(r->count, x->rank, x->ranks);
    float least = 1;
    while (least < (float)x->ranks)
        least *= 2;
    if (exchange_shares(r, own, err) != 0)
        return -1;
    add_up(r, r->values + first, own, 1 / least);
    half_narrow(r->out + first, r->values + first, own, r->type);
    if (spread_shares(r, first, own, err) != 0)
        return -1;
    half_widen(r->values, r->out, r->count, r->type);
    for (size_t i = 0; i < r->count; i++)
        r->values[i] *= least;
    return 0;
}

static int sum_round(const struct shares_exchange *x, float *values, size_t count,
                     enum comm_type type, struct error *err) {
    const size_t in = x->ranks == 2 ? count : (count / (size_t)x->ranks + 1) * (size_t)x->ranks;
    if (shares_memory_need(x, (count + in) * WIDTH + 1, err) != 0)
        return -1;
    uint16_t *out = x->memory->bytes;
    const struct half_round r = {x, type, values, count, out, out + count};
    half_narrow(out, values, count, type);
    return x->ranks == 2 ? sum_whole(&r, err) : sum_shares(&r, err);
}

int half_sum(const struct shares_exchange *x, float *values, size_t count, enum comm_type type,
             struct error *err) {
    size_t done = 0;
    do {
        const size_t n = count - done < HALF_SUM_ROUND ? count - done : HALF_SUM_ROUND;
        if (sum_round(x, values + done, n, type, err) != 0)
            return -1;
        done += n;
    } while (done < count);
    return 0;
}
