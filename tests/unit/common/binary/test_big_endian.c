#include "common/binary/big_endian.h"
#include "tests/support/unit.h"

static void the_first_byte_is_the_highest(void) {
    static const uint8_t bytes[] = {0xf1, 0xf2, 0xf3, 0xf4};
    CU_ASSERT_EQUAL(big_endian_u32(bytes), 0xf1f2f3f4);
}

UNIT_SUITE("common.big_endian", UNIT(the_first_byte_is_the_highest))
