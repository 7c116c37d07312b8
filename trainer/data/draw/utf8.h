/* UTF-8, character by character. */
#ifndef TRAINER_DATA_DRAW_UTF8_H
#define TRAINER_DATA_DRAW_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* What stands for bytes that are no character. */
enum { UTF8_REPLACEMENT = 0xfffd };

/* The next character of TEXT, which moves on and is not at its end; a byte that begins none counts
 * alone, as UTF8_REPLACEMENT. */
uint32_t utf8_next(const char **text);

/* How many bytes the first COUNT characters of TEXT have, or all of it. */
size_t utf8_length(const char *text, size_t count);

#endif
