/* What was ignored or looks wrong where something was read, for a log or a table: libraries do not
 * print. A fixed number of lines, each cut at its size; those above the number are counted alone.
 */
#ifndef COMMON_WARNINGS_H
#define COMMON_WARNINGS_H

#include <stddef.h>

enum { WARNINGS_MAX = 8, WARNING_SIZE = 384 };

struct warnings {
    char text[WARNINGS_MAX][WARNING_SIZE];
    size_t count;   /* of text */
    size_t dropped; /* above WARNINGS_MAX */
};

/* W may be NULL: then nobody wants to hear it. */
void warnings_add(struct warnings *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
