#include "tests/support/unit.h"
#include "trainer/math/f16.h"

#include <math.h>

static void widening_then_narrowing_gives_every_number_back(void) {
    for (uint32_t half = 0; half < 65536; half++) {
        float value = f16_to_f32((uint16_t)half);
        if (isnan(value))
            CU_ASSERT(isnan(f16_to_f32(f16_from_f32(value))))
        else
            CU_ASSERT_EQUAL(f16_from_f32(value), half);
    }
}

static void known_numbers_have_their_bits(void) {
    static const struct {
        float value;
        uint16_t half;
    } rows[] = {{1.0F, 0x3c00},     {-2.0F, 0xc000},    {65504.0F, 0x7bff},
                {65519.0F, 0x7bff}, {65520.0F, 0x7c00}, {1e30F, 0x7c00},
                {-1e30F, 0xfc00},   {-0.0F, 0x8000},    {0.333251953125F, 0x3555},
                {0x1p-14F, 0x0400}, {0x1p-24F, 0x0001}, {0x1p-26F, 0},
                {INFINITY, 0x7c00}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(f16_from_f32(rows[i].value), rows[i].half);
}

static void ties_go_to_the_even_neighbour(void) {
    /* Between 1 and 1 + 2^-10, and between two subnormals. */
    CU_ASSERT_EQUAL(f16_from_f32(1.0F + 0x1p-11F), 0x3c00);
    CU_ASSERT_EQUAL(f16_from_f32(1.0F + 3 * 0x1p-11F), 0x3c02);
    CU_ASSERT_EQUAL(f16_from_f32(1.0F + 0x1.1p-11F), 0x3c01);
    CU_ASSERT_EQUAL(f16_from_f32(0x1p-25F), 0);
    CU_ASSERT_EQUAL(f16_from_f32(3 * 0x1p-25F), 2);
    CU_ASSERT_EQUAL(f16_from_f32(0x1.1p-25F), 1);
    /* The largest subnormal rounds up to the smallest normal number. */
    CU_ASSERT_EQUAL(f16_from_f32(0x1.fffp-15F), 0x0400);
}

UNIT_SUITE("kernels.f16", UNIT(widening_then_narrowing_gives_every_number_back),
           UNIT(known_numbers_have_their_bits), UNIT(ties_go_to_the_even_neighbour))
