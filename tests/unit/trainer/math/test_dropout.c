#include "trainer/math/dropout.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>

enum { COUNT = 100000 };

/* Returns whether element I of a sample is zero. */
static bool is_zero(uint64_t seed, uint32_t epoch, uint32_t sample, int layer, uint32_t i,
                    double p) {
    int32_t key[SAMPLE_KEY_WORDS];
    uint32_t numbers[RANDOM_BLOCK];
    sample_key_fill(key, seed, epoch, sample);
    dropout_numbers(key, layer, i / RANDOM_BLOCK, numbers);
    return numbers[i % RANDOM_BLOCK] < dropout_bound(p);
}

/* The share of zeros is within four standard errors. */
static void as_many_are_zero_as_asked_for(void) {
    static const double rows[] = {0, 0.1, 0.5, 0.9};
    for (int r = 0; r < 4; r++) {
        int zero = 0;
        for (uint32_t i = 0; i < COUNT; i++)
            zero += is_zero(1, 0, 7, 0, i, rows[r]);
        CU_ASSERT_DOUBLE_EQUAL((double)zero / COUNT, rows[r],
                               4 * sqrt(rows[r] * (1 - rows[r]) / COUNT) + 1e-12);
    }
}

/* Two independent masks of one half agree in one half of the elements. */
static void seeds_epochs_samples_and_layers_have_masks_of_their_own(void) {
    const uint64_t seeds[] = {2, 1, 1, 1};
    const uint32_t epochs[] = {0, 1, 0, 0}, samples[] = {7, 7, 8, 7};
    const int layers[] = {0, 0, 0, 1};
    for (int r = 0; r < 4; r++) {
        int equal = 0;
        for (uint32_t i = 0; i < COUNT; i++)
            equal += is_zero(1, 0, 7, 0, i, 0.5) ==
                     is_zero(seeds[r], epochs[r], samples[r], layers[r], i, 0.5);
        CU_ASSERT_DOUBLE_EQUAL((double)equal / COUNT, 0.5, 0.01);
    }
}

UNIT_SUITE("kernels.dropout", UNIT(as_many_are_zero_as_asked_for),
           UNIT(seeds_epochs_samples_and_layers_have_masks_of_their_own))
