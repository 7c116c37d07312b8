/* Permutations of a range of numbers as pure functions. The range is 0 .. count-1; any place takes
 * constant time and no memory.
 *
 * A Feistel network over the next power of four with cycle walking (Black and Rogaway, Ciphers with
 * Arbitrary Finite Domains, 2002), with Philox (math/random.h) as the round function. */
#ifndef TRAINER_DATA_ORDER_PERMUTATION_H
#define TRAINER_DATA_ORDER_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

/* Distinguishes the permutations of one (seed, epoch). */
struct permutation {
    uint64_t seed;
    uint32_t epoch;
    uint32_t order; /* below 2^24 */
    uint32_t mark;  /* PERMUTATION_MARK, or less; at least 2^31, see below */
};

/* The last word of the counters. It separates these numbers from the streams of samples: their
 * counters end in the high half of a sample's number. */
#define PERMUTATION_MARK UINT32_MAX

/* Returns place PLACE, below COUNT, of the permutation of 0 .. COUNT-1. */
size_t permutation_at(const struct permutation *p, size_t count, size_t place);

#endif
