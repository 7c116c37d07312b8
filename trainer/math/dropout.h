/* Dropout (Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout: A Simple Way to
 * Prevent Neural Networks from Overfitting", JMLR 15, 2014), in torch's meaning: an element is zero
 * with probability P, and the others are divided by 1 - P, so that nothing is left to do in
 * evaluation.
 *
 * Which elements are zero depends only on the seed, the epoch, the sample, the layer and the
 * element's number in its sample (math/sample_key.h): the same on any rank, thread and device,
 * after a resume, and in the backward pass. NaN stays NaN. */
#ifndef TRAINER_MATH_DROPOUT_H
#define TRAINER_MATH_DROPOUT_H

#include "trainer/math/kernel.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <stdint.h>

/* Computes the random numbers of elements RANDOM_BLOCK * BLOCK and those that follow. */
KERNEL void dropout_numbers(const int32_t key[SAMPLE_KEY_WORDS], int layer, uint32_t block,
                            uint32_t numbers[RANDOM_BLOCK]) {
    uint32_t seed[2], counter[4];
    seed[0] = (uint32_t)key[SAMPLE_KEY_SEED_LOW];
    seed[1] = (uint32_t)key[SAMPLE_KEY_SEED_HIGH];
    counter[0] = block;
    counter[1] = (uint32_t)key[SAMPLE_KEY_EPOCH];
    counter[2] = (uint32_t)key[SAMPLE_KEY_SAMPLE];
    counter[3] = (uint32_t)SAMPLE_DROPOUT + (uint32_t)layer;
    random_philox(counter, seed, numbers);
}

/* An element is zero if its number is below this. */
KERNEL uint32_t dropout_bound(double p) {
    return (uint32_t)(p * 4294967296.0);
}

#endif
