#include "tests/support/unit.h"
#include "trainer/comm/half.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <string.h>

enum { HALVES = 65536, ROWS = 4099 /* no multiple of eight */ };

static float f32_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* NaN is not equal to itself. */
static bool same(float a, float b) {
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void all_halves_widen_and_come_back(void) {
    static uint16_t halves[HALVES], back[HALVES];
    static float wide[HALVES];
    int other = 0;
    for (unsigned i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    half_widen(wide, halves, HALVES, COMM_F32_AS_F16);
    half_narrow(back, wide, HALVES, COMM_F32_AS_F16);
    for (unsigned i = 0; i < HALVES; i++) {
        const bool nan = (i & 0x7fffU) > 0x7c00U; /* becomes quiet */
        other += nan ? wide[i] == wide[i] || (back[i] | 0x200U) != (i | 0x200U)
                     : !same(wide[i], f16_to_f32((uint16_t)i)) || back[i] != i;
    }
    CU_ASSERT_EQUAL(other, 0);
    half_widen(wide, halves, HALVES, COMM_F32_AS_BF16);
    half_narrow(back, wide, HALVES, COMM_F32_AS_BF16);
    for (unsigned i = 0; i < HALVES; i++)
        other += !same(wide[i], f32_of(i << 16)) ||
                 ((i & 0x7fffU) <= 0x7f80U ? back[i] != i : (back[i] | 0x40U) != (i | 0x40U));
    CU_ASSERT_EQUAL(other, 0);
}

/* Values of all sizes, those halfway between two halves, and what is not finite. */
static void rows_round_as_single_values_do(void) {
    static float values[ROWS];
    static uint16_t f16[ROWS], bf16[ROWS];
    uint32_t bits = 12345;
    int other = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < ROWS; i++) {
            bits = bits * 1664525U + 1013904223U;
            const uint32_t tie = i % 3 == 0 ? bits & 0xfffff000U : bits;
            values[i] = f32_of(i % 7 == 0 ? (tie & 0x8fffffffU) | 0x38000000U : tie);
        }
        half_narrow(f16, values, ROWS, COMM_F32_AS_F16);
        half_narrow(bf16, values, ROWS, COMM_F32_AS_BF16);
        for (int i = 0; i < ROWS; i++)
            other += f16[i] != f16_from_f32(values[i]) || bf16[i] != bf16_from_f32(values[i]);
    }
    CU_ASSERT_EQUAL(other, 0);
}

static void what_f16_cannot_hold_is_infinite_or_zero(void) {
    static const float values[] = {65519, 65520, -7e4F, 0x1p-24F, 0x1p-25F, -0x1.8p-25F, 1e-30F, 0};
    static const uint16_t expected[] = {0x7bff, 0x7c00, 0xfc00, 1, 0, 0x8001, 0, 0};
    uint16_t halves[8];
    half_narrow(halves, values, 8, COMM_F32_AS_F16);
    CU_ASSERT_EQUAL(memcmp(halves, expected, sizeof(expected)), 0);
}

UNIT_SUITE("comm.half", UNIT(all_halves_widen_and_come_back), UNIT(rows_round_as_single_values_do),
           UNIT(what_f16_cannot_hold_is_infinite_or_zero))
