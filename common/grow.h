/* Growth of dynamic arrays: by half of their capacity each time, so that adding is cheap on
 * average.
 *
 * Example:
 *
 *     if (grow_array(&list->items, &list->capacity, list->count + 1, sizeof(*list->items),
 *                    "a list of files", err) != 0)
 *         return -1;
 *     list->items[list->count++] = file; */
#ifndef COMMON_GROW_H
#define COMMON_GROW_H

#include "common/error.h"

#include <stddef.h>

/* The slow part of grow_array(): fewer than WANTED fit. */
int grow_array_now(void *items, size_t *capacity, size_t wanted, size_t size, const char *what,
                   struct error *err);

/* ITEMS points to a pointer to *CAPACITY items of SIZE bytes, from malloc() or NULL. Reallocates
 * them if fewer than WANTED fit; new ones are not initialised. On failure, an error about WHAT,
 * everything stays as it was. */
static inline int grow_array(void *items, size_t *capacity, size_t wanted, size_t size,
                             const char *what, struct error *err) {
    return wanted <= *capacity ? 0 : grow_array_now(items, capacity, wanted, size, what, err);
}

#endif
