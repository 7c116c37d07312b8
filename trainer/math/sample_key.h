/* Random sampling of candidates: those with the smallest keys are taken. A candidate's key is a
 * random number that depends only on (seed, epoch, sample) and its own number, so the choice is
 * the same on any rank, thread and device and after a resume. */
#ifndef TRAINER_MATH_SAMPLE_KEY_H
#define TRAINER_MATH_SAMPLE_KEY_H

#include "trainer/math/kernel.h"
#include "trainer/math/random.h"

#include <stdint.h>

/* Source of a picture's random choices, as four i32 of the tensor `key`. */
enum sample_key_word {
    SAMPLE_KEY_SEED_LOW,
    SAMPLE_KEY_SEED_HIGH,
    SAMPLE_KEY_EPOCH,
    SAMPLE_KEY_SAMPLE,
    SAMPLE_KEY_WORDS
};

/* One number for each kind of choice. They cannot collide with the sample numbers of augmentation
 * (random.h: a stream's fourth word is the upper half of a sample's number). */
enum sample_kind {
    SAMPLE_RPN = 0x52504e00,
    SAMPLE_ROI = 0x524f4900,
    SAMPLE_DROPOUT = 0x44524f00 /* and the number of the layer, below 256 */
};

KERNEL void sample_key_fill(int32_t key[SAMPLE_KEY_WORDS], uint64_t seed, uint32_t epoch,
                            uint32_t sample) {
    key[SAMPLE_KEY_SEED_LOW] = (int32_t)(uint32_t)seed;
    key[SAMPLE_KEY_SEED_HIGH] = (int32_t)(uint32_t)(seed >> 32);
    key[SAMPLE_KEY_EPOCH] = (int32_t)epoch;
    key[SAMPLE_KEY_SAMPLE] = (int32_t)sample;
}

KERNEL uint32_t sample_key(const int32_t key[SAMPLE_KEY_WORDS], enum sample_kind kind, int i) {
    uint32_t seed[2], counter[4], out[4];
    seed[0] = (uint32_t)key[SAMPLE_KEY_SEED_LOW];
    seed[1] = (uint32_t)key[SAMPLE_KEY_SEED_HIGH];
    counter[0] = (uint32_t)i;
    counter[1] = (uint32_t)key[SAMPLE_KEY_EPOCH];
    counter[2] = (uint32_t)key[SAMPLE_KEY_SAMPLE];
    counter[3] = (uint32_t)kind;
    random_philox(counter, seed, out);
    return out[0];
}

/* Order of candidates, all different: the smallest keys first, of equal ones the lower number. */
KERNEL uint64_t sample_order(uint32_t key, int i) {
    return (uint64_t)key << 32 | (uint32_t)i;
}

#endif
