/* Fixed-size list of warnings, for a log or a table.
 *
 * A reader adds what it ignored or what looks wrong, because libraries do not print. Each line is
 * cut at a fixed size; warnings beyond the last line are only counted. */
#ifndef COMMON_WARNINGS_H
#define COMMON_WARNINGS_H

#include <stddef.h>

enum { WARNINGS_MAX = 8, WARNING_SIZE = 384 };

struct warnings {
    char text[WARNINGS_MAX][WARNING_SIZE];
    size_t count;   /* number of lines in `text` */
    size_t dropped; /* number of warnings beyond WARNINGS_MAX */
};

/* W may be NULL: the warning is then discarded. */
void warnings_add(struct warnings *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds those of MORE, in their order. */
void warnings_join(struct warnings *w, const struct warnings *more);

#endif
