/* Streams of random numbers of a picture's colours: each kind of number has its own word 3 of the
 * counter, so one more kind changes no other's numbers. */
#ifndef TRAINER_DATA_COLOR_COLOR_SALT_H
#define TRAINER_DATA_COLOR_COLOR_SALT_H

#include "trainer/math/random.h"

/* 0 is the geometry's. */
enum {
    SALT_CHANGES = 1, /* one for each of the four changes of colour */
    SALT_ORDER = 5,
    SALT_LIGHTING,
    SALT_BLUR,
};

static inline struct random color_stream(uint64_t seed, uint32_t epoch, uint64_t sample, int salt) {
    return random_stream(seed, epoch, (sample & UINT32_MAX) | (uint64_t)salt << 32);
}

#endif
