#include "tests/support/unit.h"
#include "trainer/math/bf16.h"

#include <math.h>

static void widening_then_narrowing_gives_every_number_back(void) {
    for (uint32_t half = 0; half < 65536; half++) {
        float value = bf16_to_f32((uint16_t)half);
        if (isnan(value))
            CU_ASSERT(isnan(bf16_to_f32(bf16_from_f32(value))))
        else
            CU_ASSERT_EQUAL(bf16_from_f32(value), half);
    }
}

static void narrowing_takes_the_nearer_and_ties_go_to_even(void) {
    /* Between 1 (0x3f80) and the next number, 1 + 2^-7 (0x3f81). */
    CU_ASSERT_EQUAL(bf16_from_f32(1.0f + 0.00390624f), 0x3f80);
    CU_ASSERT_EQUAL(bf16_from_f32(1.0f + 0.00390625f), 0x3f80);
    CU_ASSERT_EQUAL(bf16_from_f32(1.0f + 0.00390637f), 0x3f81);
    CU_ASSERT_EQUAL(bf16_from_f32(1.0f + 3 * 0.00390625f), 0x3f82);
    CU_ASSERT_EQUAL(bf16_from_f32(-1.0f - 3 * 0.00390625f), 0xbf82);
    CU_ASSERT_EQUAL(bf16_from_f32(3.4e38f), 0x7f80);
    CU_ASSERT_EQUAL(bf16_from_f32(-0.0f), 0x8000);
}

UNIT_SUITE("kernels.bf16", UNIT(widening_then_narrowing_gives_every_number_back),
           UNIT(narrowing_takes_the_nearer_and_ties_go_to_even))
