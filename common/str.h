/* Strings from outside: total parsers without locale, and text made safe to print. */
#ifndef COMMON_STR_H
#define COMMON_STR_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole strings only: no blanks, no sign but '-', nothing behind the number. On failure the error
 * says what was expected; the caller adds file and key. RET is written on success alone. */
int str_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err);
/* A whole number as people and tuners write it: 32, 32.0 and 3.2e1 are the same, 32.5 is refused.
 * For flags and settings; what programs tell one another is str_parse_int's. */
int str_parse_whole(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err);
int str_parse_double(const char *text, double min, double max, double *ret, struct error *err);
/* true, false, True, False, 1, 0. */
int str_parse_bool(const char *text, bool *ret, struct error *err);

/* Orders digits in a name by value: algo-2 before algo-10. As strcmp otherwise; equal only for
 * equal strings. */
int str_compare_natural(const char *a, const char *b);

bool str_starts_with(const char *text, const char *prefix);
bool str_ends_with(const char *text, const char *end);

/* Appends SIZE bytes as valid UTF-8 without control characters but tab: every byte that does not
 * belong to a well-formed sequence becomes U+FFFD, other controls become '?'. Needs up to three
 * times SIZE. */
int str_add_utf8(struct buf *out, const char *bytes, size_t size, struct error *err);

/* The longest prefix of TEXT (SIZE bytes of valid UTF-8) of at most MAX bytes that cuts no
 * character in two. */
size_t str_utf8_prefix(const char *text, size_t size, size_t max);

/* FNV-1a, 64 bits: for hashes that only detect difference. Start with STR_HASH_START. */
#define STR_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t str_hash(uint64_t hash, const void *bytes, size_t size);

#endif
