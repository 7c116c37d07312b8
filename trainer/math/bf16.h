/* Conversion to and from bfloat16: the upper half of an f32. Narrowing rounds to nearest, ties to
 * even; NaN stays NaN (quiet, sign kept), overflow becomes infinity. */
#ifndef TRAINER_MATH_BF16_H
#define TRAINER_MATH_BF16_H

#include "trainer/math/kernel.h"

#include <stdint.h>
#include <string.h>

KERNEL float bf16_to_f32(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

KERNEL uint16_t bf16_from_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    return (uint16_t)(bits >> 16);
}

#endif
