/* The numbers that golden values are made from (hashed.py): a hash of a name, a seed and a place.
 */
#ifndef TESTS_GOLDEN_HASHED_H
#define TESTS_GOLDEN_HASHED_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a. */
static inline uint64_t hashed_name(const char *name) {
    uint64_t value = 0xCBF29CE484222325U;
    for (; *name != '\0'; name++)
        value = (value ^ (uint8_t)*name) * 0x100000001B3U;
    return value;
}

/* SplitMix64's output for PLACE (from 0) of the stream of NAME's hash and SEED. */
static inline uint64_t hashed(uint64_t name, uint64_t seed, size_t place) {
    uint64_t z = name + seed * 0xD1342543DE82EF95U + ((uint64_t)place + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static inline float hashed_uniform(uint64_t name, uint64_t seed, size_t place, double low,
                                   double high) {
    double share = (double)(hashed(name, seed, place) >> 40) / (1 << 24);
    return (float)(low + (high - low) * share);
}

#endif
