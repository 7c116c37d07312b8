#include "tests/support/unit.h"
#include "trainer/comm/clock_offset.h"

#include <stdlib.h>

/* Rounds of two ranks, of which the second has a clock that is OFFSET ahead; delays are drawn. */
static void exchange(int64_t offset, struct clock_rounds *first, struct clock_rounds *own) {
    unsigned seed = 7;
    int64_t now = 1000000;
    for (int i = 0; i < CLOCK_OFFSET_ROUNDS; i++) {
        const int64_t a = now + rand_r(&seed) % 50000, b = now + rand_r(&seed) % 50000;
        const int64_t both = (a > b ? a : b) + 20000;
        first->enter[i] = a;
        own->enter[i] = b + offset;
        first->leave[i] = both + rand_r(&seed) % 90000;
        own->leave[i] = both + rand_r(&seed) % 90000 + offset;
        now = both + 100000;
    }
}

static void the_offset_is_within_its_error(void) {
    const int64_t offsets[] = {0, 12345, -987654321, 86400000000000};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct clock_rounds first, own;
        exchange(offsets[i], &first, &own);
        const struct clock_offset found = clock_offset_of(&first, &own);
        CU_ASSERT(llabs(found.offset - offsets[i]) <= found.error);
        CU_ASSERT(found.error > 0 && found.error < 60000);
    }
}

static void between_two_measurements_a_clock_drifts_evenly(void) {
    const struct clock_offset start = {.at = 1000, .offset = 100},
                              end = {.at = 3000, .offset = 300};
    CU_ASSERT_EQUAL(clock_offset_apply(&start, &end, 1000), 900);
    CU_ASSERT_EQUAL(clock_offset_apply(&start, &end, 2000), 1800);
    CU_ASSERT_EQUAL(clock_offset_apply(&start, &end, 3000), 2700);
    CU_ASSERT_EQUAL(clock_offset_apply(&start, &start, 5000), 4900);
}

static void rank_0_is_the_clock(void) {
    cleanup_comm struct comm *alone = NULL;
    struct clock_offset own;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    CU_ASSERT_EQUAL(clock_offset_measure(alone, &own, NULL), 0);
    CU_ASSERT(own.offset == 0 && own.error == 0 && own.at > 0);
}

UNIT_SUITE("comm.clock_offset", UNIT(the_offset_is_within_its_error),
           UNIT(between_two_measurements_a_clock_drifts_evenly), UNIT(rank_0_is_the_clock))
