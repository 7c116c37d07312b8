#include "common/str.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parsers check the form of a text before the C library converts it. strtoll() and strtod()
 * accept more than a setting should: leading blanks, '+', "0x10", "inf" and, in some locales, a
 * comma. A text is either read whole or refused, and the error quotes at most 64 bytes of it. */

/* TEXT is quoted as it was given, also where it was read as another number, like 1e3 or 32.0. A
 * caller adds which setting or flag it is for. */
static int refuse_range(const char *text, int64_t min, int64_t max, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "%.64s is not between %" PRId64 " and %" PRId64, text,
                     min, max);
}

/* errno tells values beyond long long from its limits themselves; MIN and MAX are compared after
 * that. */
int str_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err) {
    char *end = NULL;
    errno = 0;
    long long value = 0;
    /* strtoll() would skip blanks and take a '+' here. */
    bool plain = text[0] == '-' ? isdigit((unsigned char)text[1]) : isdigit((unsigned char)text[0]);
    if (plain)
        value = strtoll(text, &end, 10);
    if (!plain || *end != '\0')
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is not a whole number", text);
    if (errno == ERANGE || value < min || value > max)
        return refuse_range(text, min, max, err);
    *ret = value;
    return 0;
}

/* Checks the form of a decimal number, so that strtod never sees "inf", "nan", hexadecimal or
 * blanks. The decimal point is '.', because no program of ours calls setlocale. */
static bool is_decimal(const char *text) {
    const char *p = text + (*text == '-');
    size_t digits = 0;
    for (; isdigit((unsigned char)*p); p++)
        digits++;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++)
            digits++;
    if (digits == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        if (!isdigit((unsigned char)*p))
            return false;
        while (isdigit((unsigned char)*p))
            p++;
    }
    return *p == '\0';
}

/* The value of a whole decimal number (see is_decimal), computed digit by digit, as a double would
 * lose the last ones. Returns false if it is not whole. *RET_BEYOND: it does not fit into int64_t.
 * The value is built up as a negative number, which reaches one further than a positive one:
 * INT64_MIN has no counterpart. The exponent is cut at 32 bits, as strtoll() is at 64: a mantissa
 * of zeros is 0 with any exponent, and any other one is beyond int64_t or no whole number. */
static bool whole_value(const char *text, int64_t *ret, bool *ret_beyond) {
    const bool negative = *text == '-';
    const char *digits = text + negative, *end = digits + strcspn(digits, "eE");
    const char *point = memchr(digits, '.', (size_t)(end - digits));
    int64_t exponent = *end != '\0' ? strtoll(end + 1, NULL, 10) : 0;
    /* The number of digits before the decimal point once the exponent has shifted it. */
    int64_t whole = ((point != NULL ? point : end) - digits);
    whole = exponent > INT32_MAX ? INT32_MAX : exponent < INT32_MIN ? INT32_MIN : whole + exponent;
    int64_t value = 0, place = 0;
    *ret_beyond = false;
    for (const char *p = digits; p < end; p++) {
        if (*p == '.')
            continue;
        if (place++ >= whole && *p != '0')
            return false;
        if (place <= whole)
            *ret_beyond |= __builtin_mul_overflow(value, 10, &value) ||
                           __builtin_sub_overflow(value, *p - '0', &value);
    }
    for (; place < whole && value != 0 && !*ret_beyond; place++)
        *ret_beyond |= __builtin_mul_overflow(value, 10, &value);
    if (!negative)
        *ret_beyond |= __builtin_sub_overflow(0, value, &value);
    *ret = value;
    return true;
}

/* The message is the same for 32.5 and for words: the form and the value both fail as no whole
 * number. */
int str_parse_whole(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err) {
    int64_t value = 0;
    bool beyond = false;
    if (!is_decimal(text) || !whole_value(text, &value, &beyond))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is not a whole number", text);
    if (beyond || value < min || value > max)
        return refuse_range(text, min, max, err);
    *ret = value;
    return 0;
}

/* A value that strtod() rounds to infinity is out of range; one that it rounds to 0 is accepted. */
int str_parse_double(const char *text, double min, double max, double *ret, struct error *err) {
    if (!is_decimal(text))
        return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is not a number", text);
    double value = strtod(text, NULL);
    if (!isfinite(value) || value < min || value > max)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s is not between %g and %g", text, min, max);
    *ret = value;
    return 0;
}

/* These are the spellings of JSON, of Python, and of shells. Others, such as "yes", are refused, so
 * that a typing mistake never means false. */
int str_parse_bool(const char *text, bool *ret, struct error *err) {
    static const char *const yes[] = {"true", "True", "1"};
    static const char *const no[] = {"false", "False", "0"};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *ret = strcmp(text, yes[i]) == 0;
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_CONFIG, "\"%.64s\" is neither true nor false", text);
}

/* isdigit() in the C locale is true for 0 to 9 alone; bytes above 127 need the cast. */
static size_t digit_run(const char *text) {
    size_t length = 0;
    while (isdigit((unsigned char)text[length]))
        length++;
    return length;
}

/* Compares two runs of digits by value: without leading zeros, the longer run is greater. Zeros at
 * the start do not count, but one digit stays, so that "0" and "00" are equal here. */
static int compare_runs(const char *a, size_t a_length, const char *b, size_t b_length) {
    while (a_length > 1 && *a == '0') {
        a++;
        a_length--;
    }
    while (b_length > 1 && *b == '0') {
        b++;
        b_length--;
    }
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;
    return memcmp(a, b, a_length);
}

/* Names that are equal by value, such as host-1 and host-01, are ordered by their bytes at the end:
 * hosts sort their list by themselves, and all have to come to the same order. */
int str_compare_natural(const char *a, const char *b) {
    const char *p = a;
    const char *q = b;
    while (*p != '\0' && *q != '\0') {
        size_t p_run = digit_run(p);
        size_t q_run = digit_run(q);
        if (p_run > 0 && q_run > 0) {
            int order = compare_runs(p, p_run, q, q_run);
            if (order != 0)
                return order;
            p += p_run;
            q += q_run;
        } else if (*p != *q) {
            return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
        } else {
            p++;
            q++;
        }
    }
    if (*p != *q)
        return *p == '\0' ? -1 : 1;
    return strcmp(a, b);
}

/* An empty PREFIX is the start of every text. */
bool str_starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* An empty END is the end of every text. */
bool str_ends_with(const char *text, const char *end) {
    size_t size = strlen(text);
    size_t wanted = strlen(end);
    return size >= wanted && strcmp(text + size - wanted, end) == 0;
}

/* The length of the well-formed UTF-8 sequence at BYTES (Unicode 15, table 3-7), 0 if there is
 * none. The second byte has a narrower range after four of the lead bytes. This excludes overlong
 * forms (after E0 and F0), surrogates (after ED) and values above U+10FFFF (after F4); C0 and C1
 * only begin overlong forms. */
static size_t utf8_sequence(const unsigned char *bytes, size_t size) {
    unsigned char lead = bytes[0];
    if (lead < 0x80)
        return 1;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || size < length)
        return 0;
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Each byte of a broken sequence is replaced by itself, so that a character cut off at the end of a
 * text does not take the next one with it. Control characters could move the cursor of a terminal
 * or begin an escape sequence. What a program prints may be in any encoding, or none. */
int str_add_utf8(struct buf *out, const char *bytes, size_t size, struct error *err) {
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_sequence(p + at, size - at);
        int failed = 0;
        if (length == 0)
            failed = buf_add(out, "\xef\xbf\xbd", 3, err);
        else if (length == 1 && (p[at] < 0x20 || p[at] == 0x7f) && p[at] != '\t')
            failed = buf_add(out, "?", 1, err);
        else
            failed = buf_add(out, p + at, length, err);
        if (failed != 0)
            return -1;
        at += length > 0 ? length : 1;
    }
    return 0;
}

/* Goes back from the cut to the start of a character: continuation bytes are 10xxxxxx. */
size_t str_utf8_prefix(const char *text, size_t size, size_t max) {
    if (size <= max)
        return size;
    size_t end = max;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

/* The 64-bit prime of FNV-1a (Fowler, Noll and Vo). A chain of calls over parts gives the hash of
 * their concatenation. It resists no attacker. */
uint64_t str_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}
