/* IEEE 754 half precision: 5 bits of exponent, 10 of fraction. Narrowing rounds to nearest, ties to
 * even; subnormals are kept, overflow becomes infinity, NaN stays NaN. */
#ifndef TRAINER_MATH_F16_H
#define TRAINER_MATH_F16_H

#include "trainer/math/kernel.h"

#include <stdint.h>
#include <string.h>

KERNEL float f16_to_f32(uint16_t half) {
    uint32_t exponent = (half >> 10) & 0x1fu, fraction = half & 0x3ffu;
    uint32_t bits = (uint32_t)(half & 0x8000u) << 16;
    float value;
    if (exponent == 0) { /* zero and subnormals: multiples of 2^-24 */
        value = (float)fraction * (1.0f / 16777216.0f);
        return bits != 0 ? -value : value;
    }
    bits |= (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

KERNEL uint16_t f16_from_f32(float value) {
    uint32_t bits, size;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
    if (size >= 0x47800000u) /* 65536 and more */
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u) { /* below 2^-14: 0.5 has steps of 2^-24, and the sum rounds to one */
        memcpy(&value, &size, sizeof(value));
        value += 0.5f;
        memcpy(&size, &value, sizeof(size));
        return (uint16_t)(sign | (size - 0x3f000000u));
    }
    size += 0xfffu + (size >> 13 & 1u);
    return (uint16_t)(sign | ((size - 0x38000000u) >> 13));
}

#endif
