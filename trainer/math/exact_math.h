/* Exact exp, log, log2 and sigmoid of f32, for decisions about boxes.
 *
 * They have the same bits on every processor: the last bit of a library's function would change a
 * decision from machine to machine.
 *
 * Computed in double with sums, products and quotients only, which IEEE 754 defines exactly, and
 * rounded once: within 0.501 units in the last place, subnormal results included. A product and the
 * following sum must be rounded separately: compile the users of this header with -ffp-contract=off
 * (-fmad=false on the GPU). */
#ifndef TRAINER_MATH_EXACT_MATH_H
#define TRAINER_MATH_EXACT_MATH_H

#include "trainer/math/kernel.h"

#include <stdint.h>
#include <string.h>

#define EXACT_LN2 0.693147180559945309417232121458

/* 2^N for N in -1022 .. 1023. */
KERNEL double exact_power_of_two(int n) {
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* e^x for |x| <= 700; NaN stays NaN. x = n ln 2 + r, |r| <= ln 2 / 2; e^r by Taylor series, with a
 * truncation error of 3e-14. */
KERNEL double exact_exp_double(double x) {
    if (!(x == x))
        return x;
    int n = (int)(x * (1 / EXACT_LN2) + (x < 0 ? -0.5 : 0.5));
    double r = x - n * EXACT_LN2;
    double sum = 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    return (sum * r + 1) * exact_power_of_two(n);
}

KERNEL float exact_exp(float x) {
    /* Beyond these bounds every f32 result is infinite, or 0. */
    double bounded = x > 90 ? 90 : x < -110 ? -110 : (double)x;
    return (float)exact_exp_double(bounded);
}

/* Splits a finite x > 0: x = m 2^RET, m in [sqrt(1/2), sqrt(2)); returns log m, computed as the
 * series of 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172. */
KERNEL double exact_log_fraction(double x, int *ret_exponent) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m = m / 2;
        exponent++;
    }
    *ret_exponent = exponent;
    double s = (m - 1) / (m + 1), z = s * s;
    double sum = z * (1.0 / 19) + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    return 2 * s * (sum * z + 1);
}

/* Logarithms that are not computed by the series: of 0, negative numbers, infinity and NaN. */
KERNEL int exact_log_special(float x, float *ret) {
    float zero = 0;
    if (x > 0 && x <= 3.402823466e+38f)
        return 0;
    *ret = x == 0 ? -1 / zero : x > 0 ? x : x < 0 ? zero / zero : x;
    return 1;
}

KERNEL float exact_log(float x) {
    float special = 0;
    int exponent;
    if (exact_log_special(x, &special))
        return special;
    double fraction = exact_log_fraction(x, &exponent);
    return (float)(exponent * EXACT_LN2 + fraction);
}

KERNEL float exact_log2(float x) {
    float special = 0;
    int exponent;
    if (exact_log_special(x, &special))
        return special;
    double fraction = exact_log_fraction(x, &exponent);
    return (float)(exponent + fraction * (1 / EXACT_LN2));
}

/* 1 / (1 + e^-x) */
KERNEL float exact_sigmoid(float x) {
    double bounded = x > 110 ? 110 : x < -110 ? -110 : (double)x;
    return (float)(1 / (1 + exact_exp_double(-bounded)));
}

#endif
