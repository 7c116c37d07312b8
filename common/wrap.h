/* Text in lines of a given width, broken between words. Continuation bytes of UTF-8 take no column.
 * A word that is wider than a line stays whole. */
#ifndef COMMON_WRAP_H
#define COMMON_WRAP_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdio.h>

/* Of texts that are printed, whatever they are printed to. */
enum { WRAP_WIDTH = 79 };

/* Columns that SIZE bytes of TEXT take. */
size_t wrap_columns(const char *text, size_t size);

struct wrap {
    size_t at;     /* the column that the text begins at */
    size_t indent; /* spaces before each further line */
    size_t width;  /* columns of a line */
};

/* Appends TEXT without a line end of its own; a '\n' in it is kept, and what follows begins at the
 * indent. A text that fits stays as it is; else each run of spaces between words counts as one. */
int wrap_add(struct buf *ret, const char *text, struct wrap wrap, struct error *err);

/* The same to OUT, from the first column on and WRAP_WIDTH wide; what has no room is left out. */
void wrap_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
