/* Random numbers without hidden state: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel
 * Random Numbers: As Easy as 1, 2, 3", SC 2011, section 4.3), a keyed bijection from a 128-bit
 * counter to 128 random bits.
 *
 * A stream is identified by (seed, epoch, sample): the numbers that augment one sample in one
 * epoch, or that initialize one parameter (sample = hash of its name), are the same on any thread,
 * rank or device and after a resume. Streams do not overlap: each has its own 2^32 blocks of four
 * numbers. A struct random is a value: copy it to fork, discard it when done. */
#ifndef TRAINER_MATH_RANDOM_H
#define TRAINER_MATH_RANDOM_H

#include "trainer/math/kernel.h"

#include <math.h>
#include <stdint.h>

/* Numbers of 32 bits in a block of the generator. */
enum { RANDOM_BLOCK = 4 };

struct random {
    uint32_t key[2];     /* seed */
    uint32_t counter[4]; /* block, epoch, sample low, sample high */
    uint32_t block[4];   /* the numbers of the current block */
    int used;            /* how many of them are used */
};

KERNEL void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns the start of stream (SEED, EPOCH, SAMPLE). */
KERNEL struct random random_stream(uint64_t seed, uint32_t epoch, uint64_t sample) {
    struct random r;
    r.key[0] = (uint32_t)seed;
    r.key[1] = (uint32_t)(seed >> 32);
    r.counter[0] = 0;
    r.counter[1] = epoch;
    r.counter[2] = (uint32_t)sample;
    r.counter[3] = (uint32_t)(sample >> 32);
    r.block[0] = r.block[1] = r.block[2] = r.block[3] = 0;
    r.used = RANDOM_BLOCK;
    return r;
}

/* Continues at BLOCK of the stream: after RANDOM_BLOCK * BLOCK numbers of 32 bits. */
KERNEL void random_seek(struct random *r, uint32_t block) {
    r->counter[0] = block;
    r->used = RANDOM_BLOCK;
}

KERNEL uint32_t random_u32(struct random *r) {
    if (r->used == RANDOM_BLOCK) {
        random_philox(r->counter, r->key, r->block);
        r->counter[0]++;
        r->used = 0;
    }
    return r->block[r->used++];
}

/* Uniform in [0, 1), multiples of 2^-24: exact in f32. */
KERNEL float random_float(struct random *r) {
    return (float)(random_u32(r) >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in [0, 1), multiples of 2^-53. */
KERNEL double random_double(struct random *r) {
    uint64_t high = random_u32(r) >> 5;
    uint64_t low = random_u32(r) >> 6;
    return (double)((high << 26) | low) * (1.0 / 9007199254740992.0);
}

/* Uniform in [low, high). */
KERNEL double random_between(struct random *r, double low, double high) {
    return low + (high - low) * random_double(r);
}

/* Uniform in 0 .. n-1, n > 0, without bias (numbers of the incomplete last range are redrawn). */
KERNEL uint32_t random_below(struct random *r, uint32_t n) {
    uint32_t rest = (uint32_t)(0u - n) % n; /* 2^32 mod n */
    uint32_t number = random_u32(r);
    while (number < rest)
        number = random_u32(r);
    return number % n;
}

/* Normal with mean 0 and deviation 1: Box and Muller 1958; the second number of each pair is
 * dropped. */
KERNEL double random_normal(struct random *r) {
    double radius = sqrt(-2.0 * log(1.0 - random_double(r)));
    return radius * cos(6.283185307179586476925287 * random_double(r));
}

#endif
