#include "tests/support/unit.h"
#include "trainer/math/sample_key.h"

/* The words are Philox's: by the published vector of Random123 (test_random.c). */
static void a_key_is_philox_of_number_epoch_sample_and_kind(void) {
    static const int32_t key[SAMPLE_KEY_WORDS] = {(int32_t)0xa4093822u, 0x299f31d0,
                                                  (int32_t)0x85a308d3u, 0x13198a2e};
    CU_ASSERT_EQUAL(sample_key(key, (enum sample_kind)0x03707344, 0x243f6a88), 0xd16cfe09u);
}

static void every_word_counts(void) {
    static const int32_t key[SAMPLE_KEY_WORDS] = {1, 2, 3, 4};
    uint32_t mine = sample_key(key, SAMPLE_RPN, 5);
    for (int word = 0; word < SAMPLE_KEY_WORDS; word++) {
        int32_t other[SAMPLE_KEY_WORDS] = {1, 2, 3, 4};
        other[word]++;
        CU_ASSERT_NOT_EQUAL(sample_key(other, SAMPLE_RPN, 5), mine);
    }
    CU_ASSERT_NOT_EQUAL(sample_key(key, SAMPLE_ROI, 5), mine);
    CU_ASSERT_NOT_EQUAL(sample_key(key, SAMPLE_RPN, 6), mine);
}

static void small_keys_come_first_then_low_numbers(void) {
    CU_ASSERT(sample_order(1, 9) < sample_order(2, 0));
    CU_ASSERT(sample_order(0x7fffffff, 9) < sample_order(0x80000000u, 0));
    CU_ASSERT(sample_order(2, 0) < sample_order(2, 1));
    CU_ASSERT_EQUAL((uint32_t)sample_order(2, 268568), 268568);
}

UNIT_SUITE("kernels.sample_key", UNIT(a_key_is_philox_of_number_epoch_sample_and_kind),
           UNIT(every_word_counts), UNIT(small_keys_come_first_then_low_numbers))
