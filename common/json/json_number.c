#include "common/json/json_number.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_MAX = 19,    /* so many digits always fit into 64 bits */
    EXPONENT_MAX = 400, /* beyond it a number is 0 or infinite, whatever its digits */
};

struct decimal {
    uint64_t digits; /* the first DIGITS_MAX significant digits */
    int count;       /* number of all significant digits */
    int exponent;    /* decimal exponent of the digits, taken as an integer */
    bool negative;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *read_digits(const char *at, struct decimal *d, bool fraction) {
    for (; is_digit(*at); at++) {
        if (d->count > 0 || *at != '0') {
            if (d->count < DIGITS_MAX)
                d->digits = d->digits * 10 + (uint64_t)(*at - '0');
            d->count++;
        }
        d->exponent -= fraction;
    }
    return at;
}

static const char *read_exponent(const char *at, struct decimal *d) {
    bool negative = *at == '-';
    at += negative || *at == '+';
    if (!is_digit(*at))
        return NULL;
    int exponent = 0;
    for (; is_digit(*at); at++)
        if (exponent < 100 * EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    d->exponent += negative ? -exponent : exponent;
    return at;
}

static const char *read_decimal(const char *at, struct decimal *d) {
    d->negative = *at == '-';
    at += d->negative;
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return NULL;
    at = read_digits(at, d, false);
    if (*at == '.') {
        if (!is_digit(at[1]))
            return NULL;
        at = read_digits(at + 1, d, true);
    }
    if (*at == 'e' || *at == 'E')
        at = read_exponent(at + 1, d);
    return at;
}

/* The nearest double, if a single rounding gives it: W. D. Clinger, "How to Read Floating Point
 * Numbers Accurately", PLDI 1990, section 5. Digits below 2^53 and a power of ten up to 22 are
 * exact, so the quotient or product is rounded once. */
static bool exact_double(const struct decimal *d, double *ret) {
    static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->count > DIGITS_MAX || d->digits > UINT64_C(1) << 53 || d->exponent < -22 ||
        d->exponent > 22)
        return false;
    double digits = (double)d->digits;
    *ret = d->exponent < 0 ? digits / POWERS[-d->exponent] : digits * POWERS[d->exponent];
    return true;
}

#if LDBL_MANT_DIG == 64
/* The same with an 80-bit float, in which 64 bits of digits and powers up to 27 are exact. The
 * quotient, rounded again to a double, is the nearest one unless it lies exactly midway between two
 * doubles: there the first rounding may have moved it. */
static bool extended_double(const struct decimal *d, double *ret) {
    static const long double POWERS[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                         1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                         1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (d->count > DIGITS_MAX || d->exponent < -27 || d->exponent > 0)
        return false;
    long double quotient = (long double)d->digits / POWERS[-d->exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &quotient, sizeof(mantissa));
    *ret = (double)quotient;
    return (mantissa & 0x7ff) != 0x400;
}
#else
static bool extended_double(const struct decimal *d, double *ret) {
    (void)d;
    (void)ret;
    return false;
}
#endif

static void set_integer(const struct decimal *d, struct json_number *ret) {
    if (d->count <= DIGITS_MAX && d->exponent == 0 &&
        d->digits <= (uint64_t)INT64_MAX + d->negative) {
        ret->integer = d->negative ? (int64_t)(0 - d->digits) : (int64_t)d->digits;
        ret->is_integer = true;
    } else if (ret->value == floor(ret->value) && fabs(ret->value) < 0x1p63) {
        /* Integers such as 1.0 and 1e3. Beyond 2^53 they are as exact as any program reads them. */
        ret->integer = (int64_t)ret->value;
        ret->is_integer = true;
    }
}

const char *json_number_read(const char *text, struct json_number *ret) {
    struct decimal d = {0};
    const char *end = read_decimal(text, &d);
    if (end == NULL)
        return NULL;
    *ret = (struct json_number){0};
    if (exact_double(&d, &ret->value) || extended_double(&d, &ret->value))
        ret->value = d.negative ? -ret->value : ret->value;
    else
        ret->value = strtod(text, NULL);
    set_integer(&d, ret);
    return isfinite(ret->value) ? end : NULL;
}
