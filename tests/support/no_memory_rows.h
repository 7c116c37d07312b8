/* A table of things that allocate, each tried with the allocation number N failing, alone or with
 * all behind it, for every N: it ends with an error that has a text, or with the answer that there
 * is with memory. Under a sanitizer nothing is lost either. */
#ifndef TESTS_SUPPORT_NO_MEMORY_ROWS_H
#define TESTS_SUPPORT_NO_MEMORY_ROWS_H

#include "common/error.h"

#include <stddef.h>

struct no_memory_row {
    const char *name;
    int (*run)(struct error *err); /* says with no_memory_answer() what came of it */
};

/* Appends to the answer, which says what was read, so that one that lacks something is noticed.
 * Allocates nothing. */
void no_memory_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

void no_memory_try(const struct no_memory_row *rows, size_t count);

#endif
