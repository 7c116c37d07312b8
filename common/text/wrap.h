/* Text in lines of a given width, broken between words. UTF-8 continuation bytes take no column. A
 * word wider than a line stays whole. */
#ifndef COMMON_TEXT_WRAP_H
#define COMMON_TEXT_WRAP_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdio.h>

/* Width of all wrapped output, on terminals and elsewhere. */
enum { WRAP_WIDTH = 79 };

/* The number of columns that SIZE bytes of TEXT take. */
size_t wrap_columns(const char *text, size_t size);

struct wrap {
    size_t at;     /* the column at which the text begins */
    size_t indent; /* spaces before each continuation line */
    size_t width;  /* columns of a line */
};

/* Appends TEXT without a final newline; each '\n' in it is kept, and the next line starts at the
 * indent. A text that fits on one line is unchanged; otherwise a run of spaces between words counts
 * as one. */
int wrap_add(struct buf *ret, const char *text, struct wrap wrap, struct error *err);

/* Prints text to OUT, wrapped at WRAP_WIDTH from the first column on. A text too long for the
 * internal buffer is not printed. */
void wrap_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
