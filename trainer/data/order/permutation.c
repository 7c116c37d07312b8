#include "trainer/data/order/permutation.h"

#include "trainer/math/random.h"

enum { FEISTEL_ROUNDS = 8, ORDER_SHIFT = 8 };

/* One pass of the network over two halves of BITS bits each: counter (half, epoch, round and number
 * of the order, mark), key seed. */
static uint64_t feistel(const struct permutation *p, uint64_t value, int bits) {
    const uint32_t key[2] = {(uint32_t)p->seed, (uint32_t)(p->seed >> 32)};
    const uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    uint32_t left = (uint32_t)(value >> bits);
    uint32_t right = (uint32_t)value & mask;
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        const uint32_t counter[4] = {right, p->epoch, round | p->order << ORDER_SHIFT, p->mark};
        uint32_t noise[4];
        random_philox(counter, key, noise);
        uint32_t next = left ^ (noise[0] & mask);
        left = right;
        right = next;
    }
    return (uint64_t)left << bits | right;
}

size_t permutation_at(const struct permutation *p, size_t count, size_t place) {
    int bits = 1;
    while ((UINT64_C(1) << (2 * bits)) < count)
        bits++;
    uint64_t value = place;
    do
        value = feistel(p, value, bits);
    while (value >= count); /* follows its cycle, which passes through PLACE < COUNT: it ends */
    return (size_t)value;
}
