/* Decoding of UTF-8, character by character. */
#ifndef TRAINER_DATA_DRAW_LABELS_UTF8_H
#define TRAINER_DATA_DRAW_LABELS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Stands for invalid bytes. */
enum { UTF8_REPLACEMENT = 0xfffd };

/* Returns the next character of TEXT and advances it; TEXT must not be at its end. An invalid byte
 * is one character, UTF8_REPLACEMENT. */
uint32_t utf8_next(const char **text);

/* Returns the number of bytes in the first COUNT characters of TEXT, or in all of it. */
size_t utf8_length(const char *text, size_t count);

#endif
