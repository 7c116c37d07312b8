/* A regular expression of Python's re module, rewritten for PCRE2.
 *
 *     Python    PCRE2
 *     \Z        \z       the very end
 *     \v        \x0b     one character; PCRE2 has a class of that name
 *     {,3}      {0,3}    as PCRE2 before 10.43 takes the first for text
 *     [[:a]     [\[:a]   no classes of POSIX
 *
 * Letters after a backslash that mean nothing in Python are refused, as Python does, and so is
 * "(*", which begins PCRE2's own verbs. Everything else PCRE2 judges itself. */
#ifndef ENTRYPOINT_OUTCOME_REGEX_DIALECT_H
#define ENTRYPOINT_OUTCOME_REGEX_DIALECT_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    REGEX_TEXT_MAX = 512, /* bytes; CreateTrainingJob takes 500 characters */
    REGEX_TRANSLATED_MAX = 2 * REGEX_TEXT_MAX,
};

struct regex_text {
    char bytes[REGEX_TRANSLATED_MAX + 1];      /* ends with '\0' */
    uint16_t origin[REGEX_TRANSLATED_MAX + 1]; /* the offset in Python's text of each byte */
    size_t size;
};

int regex_dialect_translate(const char *python, struct regex_text *ret, struct error *err);

#endif
