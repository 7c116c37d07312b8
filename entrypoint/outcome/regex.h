/* Regular expressions of users, matched against lines of output.
 *
 * Users write them for a service. They are those of Python's re module, over bytes: letters, digits
 * and blanks are those of ASCII. PCRE2 does the work; regex_dialect.h says what is written
 * differently there. What a group captured is not asked for.
 *
 * An expression may backtrack without end, so every match has a ceiling on its steps and on its
 * memory, and what reaches one is answered with REGEX_COSTLY. */
#ifndef ENTRYPOINT_OUTCOME_REGEX_H
#define ENTRYPOINT_OUTCOME_REGEX_H

#include "common/error.h"

#include <stddef.h>

/* A step tries an item of the expression, or passes over so many bytes of the line. A match of
 * some kB takes milliseconds at most. */
enum {
    REGEX_NEST_MAX = 32, /* groups in each other */
    REGEX_STEP_BYTES = 64,
    REGEX_STEPS_MAX = 200 * 1000, /* a line, over all places where a match may begin */
    REGEX_MATCH_MAX = 100 * 1000, /* PCRE2's match limit, for each such place */
    REGEX_DEPTH_MAX = 20 * 1000,  /* places to come back to, at the same time */
    REGEX_HEAP_MAX = 4096,        /* KiB */
};

/* PCRE2's pcre2_code. Zeroed, it is none. */
struct regex {
    struct pcre2_real_code_8 *code;
};

/* Working memory of a match: one serves any number of expressions, one at a time. */
struct regex_scratch;

enum regex_answer { REGEX_NO, REGEX_YES, REGEX_COSTLY };

/* Errors say what of TEXT is wrong and where: "missing closing parenthesis at offset 5". RET is
 * empty then. */
int regex_compile(const char *text, struct regex *ret, struct error *err);
void regex_done(struct regex *r);

/* NULL without memory. */
struct regex_scratch *regex_scratch_new(void);
void regex_scratch_free(struct regex_scratch *s);

/* Tells whether R matches anywhere in LINE, which is without its line end and may hold any bytes.
 */
enum regex_answer regex_match(const struct regex *r, const char *line, size_t size,
                              struct regex_scratch *s);

#endif
