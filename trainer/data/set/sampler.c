#include "set/sampler.h"

#include "kernels/random.h"

enum { FEISTEL_ROUNDS = 8 };

int sampler_check(const struct sampler *s, struct error *err) {
    if (s->ranks < 1 || s->rank < 0 || s->rank >= s->ranks || s->batch < 1 || s->accumulate < 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "rank %d of %d with batches of %d x %d makes no shards", s->rank, s->ranks,
                         s->accumulate, s->batch);
    if (s->count == 0)
        return error_set(err, EXIT_CODE_DATA, "the data set is empty");
    if (s->shuffle && sampler_steps(s) == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%zu pictures do not fill one global batch of %d ranks x %d x %d",
                         s->count, s->ranks, s->accumulate, s->batch);
    return 0;
}

static size_t rank_share(const struct sampler *s) {
    return (size_t)s->accumulate * (size_t)s->batch;
}

int64_t sampler_steps(const struct sampler *s) {
    size_t global = (size_t)s->ranks * rank_share(s);
    return (int64_t)(s->shuffle ? s->count / global : (s->count + global - 1) / global);
}

int64_t sampler_at(const struct sampler *s, uint32_t epoch, int64_t step, int micro, int i) {
    size_t share = rank_share(s);
    size_t place = ((size_t)step * (size_t)s->ranks + (size_t)s->rank) * share +
                   (size_t)micro * (size_t)s->batch + (size_t)i;
    if (place >= s->count)
        return SAMPLER_PADDING;
    return (int64_t)(s->shuffle ? sampler_permute(s->seed, epoch, s->count, place) : place);
}

/* One pass of the network over two halves of BITS bits each. Philox (kernels/random.h) is the round
 * function: counter (half, epoch, round, mark), key seed. The mark keeps these numbers apart from
 * the streams of samples, whose counters end in the high half of a sample's number. */
static uint64_t feistel(uint64_t value, int bits, const uint32_t key[2], uint32_t epoch) {
    const uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    uint32_t left = (uint32_t)(value >> bits);
    uint32_t right = (uint32_t)value & mask;
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        const uint32_t counter[4] = {right, epoch, round, UINT32_MAX};
        uint32_t noise[4];
        random_philox(counter, key, noise);
        uint32_t next = left ^ (noise[0] & mask);
        left = right;
        right = next;
    }
    return (uint64_t)left << bits | right;
}

size_t sampler_permute(uint64_t seed, uint32_t epoch, size_t count, size_t place) {
    int bits = 1;
    while ((UINT64_C(1) << (2 * bits)) < count)
        bits++;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint64_t value = place;
    do
        value = feistel(value, bits, key, epoch);
    while (value >= count); /* walks its own cycle, which passes through PLACE < COUNT: it ends */
    return (size_t)value;
}
