#include "common/binary/little_endian.h"
#include "tests/support/unit.h"

#include <string.h>

static void numbers_of_all_sizes_are_stored_and_read_again(void) {
    static const uint8_t bytes[] = {0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1};
    const uint64_t whole = 0xf1f2f3f4f5f6f7f8;
    for (size_t size = 1; size <= sizeof(bytes); size++) {
        uint8_t out[sizeof(bytes) + 1];
        memset(out, 7, sizeof(out));
        little_endian_put(out, whole, size);
        CU_ASSERT_EQUAL(memcmp(out, bytes, size), 0);
        CU_ASSERT_EQUAL(out[size], 7);
        CU_ASSERT_EQUAL(little_endian_get(bytes, size),
                        size == 8 ? whole : whole & ((1ull << (8 * size)) - 1));
    }
    CU_ASSERT_EQUAL(little_endian_get(bytes, 0), 0);
}

UNIT_SUITE("common.little_endian", UNIT(numbers_of_all_sizes_are_stored_and_read_again))
