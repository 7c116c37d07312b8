#include "tests/support/unit.h"
#include "trainer/math/random.h"

#include <string.h>

/* The published vectors of the Random123 distribution, philox4x32 with 10 rounds. */
static void philox_gives_the_published_numbers(void) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t out[4];
        random_philox(rows[i].counter, rows[i].key, out);
        CU_ASSERT(memcmp(out, rows[i].out, sizeof(out)) == 0);
    }
}

static void streams_repeat_and_differ_by_seed_epoch_and_sample(void) {
    struct random first = random_stream(7, 1, 42);
    struct random again = random_stream(7, 1, 42);
    struct random others[] = {random_stream(8, 1, 42), random_stream(7, 2, 42),
                              random_stream(7, 1, 43), random_stream(7 + (1ull << 32), 1, 42),
                              random_stream(7, 1, 42 + (1ull << 32))};
    for (int i = 0; i < 100; i++) {
        uint32_t number = random_u32(&first);
        CU_ASSERT_EQUAL(number, random_u32(&again));
        for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
            CU_ASSERT_NOT_EQUAL(number, random_u32(&others[k]));
    }
}

static void uniform_numbers_stay_in_range_and_fill_it(void) {
    struct random r = random_stream(1, 2, 3);
    double sum = 0;
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        double number = random_double(&r);
        float single = random_float(&r);
        CU_ASSERT(number >= 0.0 && number < 1.0);
        CU_ASSERT(single >= 0.0f && single < 1.0f);
        sum += number;
        seen[random_below(&r, 7)]++;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / 70000, 0.5, 0.005);
    for (int i = 0; i < 7; i++)
        CU_ASSERT(seen[i] > 9600 && seen[i] < 10400);
}

static void normal_numbers_have_mean_0_deviation_1_and_a_normal_tail(void) {
    struct random r = random_stream(5, 0, 0);
    enum { COUNT = 100000 };
    double sum = 0, squares = 0;
    int beyond = 0;
    for (int i = 0; i < COUNT; i++) {
        double number = random_normal(&r);
        sum += number;
        squares += number * number;
        beyond += fabs(number) > 1.959963984540054;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / COUNT, 0.0, 0.015);
    CU_ASSERT_DOUBLE_EQUAL(squares / COUNT, 1.0, 0.02);
    CU_ASSERT_DOUBLE_EQUAL((double)beyond / COUNT, 0.05, 0.004);
}

static void a_stream_goes_on_at_any_block(void) {
    struct random r = random_stream(3, 1, 9), other = r;
    uint32_t numbers[5 * RANDOM_BLOCK];
    for (int i = 0; i < 5 * RANDOM_BLOCK; i++)
        numbers[i] = random_u32(&r);
    random_seek(&other, 3);
    for (int i = 3 * RANDOM_BLOCK; i < 5 * RANDOM_BLOCK; i++)
        CU_ASSERT_EQUAL(random_u32(&other), numbers[i]);
    (void)random_u32(&r);
    random_seek(&r, 0);
    CU_ASSERT_EQUAL(random_u32(&r), numbers[0]);
}

UNIT_SUITE("kernels.random", UNIT(philox_gives_the_published_numbers),
           UNIT(streams_repeat_and_differ_by_seed_epoch_and_sample),
           UNIT(uniform_numbers_stay_in_range_and_fill_it),
           UNIT(normal_numbers_have_mean_0_deviation_1_and_a_normal_tail),
           UNIT(a_stream_goes_on_at_any_block))
