#include "tests/support/unit.h"
#include "trainer/math/exact_math.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* f32 numbers are walked over by their bits: every so many, of all magnitudes and both signs. */
enum { STRIDE = 4099 };

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* How far GOT is from EXPECTED, in steps of f32 at EXPECTED. */
static double steps_between(float got, double expected) {
    int exponent;
    (void)frexp(expected, &exponent);
    if (isinf(got) || fabs(expected) > FLT_MAX) /* what rounds to infinity */
        return isinf(got) && fabs(expected) > (double)FLT_MAX + ldexp(1, 102) ? 0 : INFINITY;
    return fabs(got - expected) / ldexp(1, exponent > -125 ? exponent - 24 : -149);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

struct row {
    const char *name;
    float (*own)(float x);
    double (*library)(double x);
    float least; /* the smallest argument */
};

/* The library's functions in double are right to 1e-16; what is held against them is rounded to
 * f32. */
static void each_is_the_nearest_number_but_for_ties(void) {
    static const struct row rows[] = {{"exp", exact_exp, exp, -INFINITY},
                                      {"log", exact_log, log, 1e-45f},
                                      {"log2", exact_log2, log2, 1e-45f},
                                      {"sigmoid", exact_sigmoid, sigmoid, -INFINITY}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double worst = 0;
        for (uint64_t bits = 0; bits < 1ull << 32; bits += STRIDE) {
            float x = from_bits((uint32_t)bits);
            if (!isfinite(x) || x < rows[i].least)
                continue;
            double apart = steps_between(rows[i].own(x), rows[i].library(x));
            worst = apart > worst ? apart : worst;
        }
        if (!(worst <= 0.501))
            printf("%s: %.4f steps apart\n", rows[i].name, worst);
        CU_ASSERT(worst <= 0.501);
    }
}

static void known_values_are_met(void) {
    CU_ASSERT_EQUAL(exact_exp(0), 1);
    CU_ASSERT_EQUAL(exact_exp(1), 0x1.5bf0a8p+1f);
    CU_ASSERT_EQUAL(exact_exp(88.72283f), 0x1.ffff08p+127f);
    CU_ASSERT(isinf(exact_exp(88.72284f)));
    CU_ASSERT(isinf(exact_exp(INFINITY)));
    CU_ASSERT_EQUAL(exact_exp(-103.97f), FLT_TRUE_MIN);
    CU_ASSERT_EQUAL(exact_exp(-104), 0);
    CU_ASSERT_EQUAL(exact_exp(-INFINITY), 0);
    CU_ASSERT(isnan(exact_exp(NAN)));
    CU_ASSERT_EQUAL(exact_log(1), 0);
    CU_ASSERT_EQUAL(exact_log(62.5f), 0x1.08a692p+2f); /* 1000 / 16 */
    CU_ASSERT_EQUAL(exact_log(0), -INFINITY);
    CU_ASSERT(isinf(exact_log(INFINITY)));
    CU_ASSERT(isnan(exact_log(-1)));
    CU_ASSERT(isnan(exact_log(NAN)));
    CU_ASSERT_EQUAL(exact_sigmoid(0), 0.5f);
    CU_ASSERT_EQUAL(exact_sigmoid(17.5f), 1);
    CU_ASSERT_EQUAL(exact_sigmoid(INFINITY), 1);
    CU_ASSERT_EQUAL(exact_sigmoid(-INFINITY), 0);
    CU_ASSERT(isnan(exact_sigmoid(NAN)));
    for (int n = -149; n <= 127; n++) /* powers of two are whole, or levels would be missed */
        CU_ASSERT_EQUAL(exact_log2(ldexpf(1, n)), n);
}

/* The bits themselves, as every other build and device has to give them (FNV-1a over a million
 * results). */
static void the_bits_are_these(void) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < 250000; i++) {
        float x = from_bits(i * 17179u), positive = from_bits(i * 8527u & 0x7fffffffu);
        float results[4] = {exact_exp(x), exact_sigmoid(x), exact_log(positive),
                            exact_log2(positive)};
        for (int k = 0; k < 4; k++) {
            uint32_t bits = 0x7fc00000u; /* whatever a NaN's bits are */
            if (results[k] == results[k])
                memcpy(&bits, &results[k], sizeof(bits));
            hash = (hash ^ bits) * 0x100000001b3u;
        }
    }
    if (hash != 0xef91a95c2acb491cu)
        printf("the hash is 0x%016llx\n", (unsigned long long)hash);
    CU_ASSERT_EQUAL(hash, 0xef91a95c2acb491cu);
}

UNIT_SUITE("kernels.exact_math", UNIT(each_is_the_nearest_number_but_for_ties),
           UNIT(known_values_are_met), UNIT(the_bits_are_these))
