/* Parsing and escaping of untrusted strings: total parsers without locale, and text made safe to
 * print. */
#ifndef COMMON_STR_H
#define COMMON_STR_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parsers of complete strings: no blanks, no sign but '-', nothing after the number. On failure the
 * error says what was expected, and the caller adds file and key. RET is written only on success.
 */
int str_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err);
/* Parses a whole number as people and tuners write it: 32, 32.0 and 3.2e1 are equal, 32.5 is
 * refused. For flags and settings; numbers exchanged between programs use str_parse_int. */
int str_parse_whole(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err);
int str_parse_double(const char *text, double min, double max, double *ret, struct error *err);
/* Accepts true, false, True, False, 1 and 0. */
int str_parse_bool(const char *text, bool *ret, struct error *err);

/* Compares like strcmp, but orders runs of digits by value: algo-2 before algo-10. Returns 0 only
 * for equal strings. */
int str_compare_natural(const char *a, const char *b);

bool str_starts_with(const char *text, const char *prefix);
bool str_ends_with(const char *text, const char *end);

/* Appends SIZE bytes as valid UTF-8 without control characters other than tab: each byte outside a
 * well-formed sequence becomes U+FFFD, other control characters become '?'. Needs up to three times
 * SIZE. */
int str_add_utf8(struct buf *out, const char *bytes, size_t size, struct error *err);

/* The size of the longest prefix of TEXT (SIZE bytes of valid UTF-8) that has at most MAX bytes and
 * does not split a character. */
size_t str_utf8_prefix(const char *text, size_t size, size_t max);

/* The ending of a noun after COUNT: 1 rank, 2 ranks. */
#define STR_PLURAL(count) ((count) == 1 ? "" : "s")

/* FNV-1a hash, 64 bits, for detecting differences only. Start with STR_HASH_START. */
#define STR_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t str_hash(uint64_t hash, const void *bytes, size_t size);

#endif
