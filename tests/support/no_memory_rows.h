/* Table of functions that allocate, each tried without memory.
 *
 * Allocation number N fails, alone or together with all later ones, for every N: the function ends
 * with an error that has a text, or with the same answer as with enough memory. Under a sanitizer
 * there are no leaks either. */
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
