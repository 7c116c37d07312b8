#include "common/table.h"

#include <stdbool.h>
#include <string.h>

/* Tables of the program have up to some hundred rows and are searched once for each word of a
 * command line or a setting, so a linear search is enough. */
static bool is(const char *own, const char *name) {
    return own != NULL && strcmp(own, name) == 0;
}

/* The rows are of a type that is not known here, so the name is copied from its offset: a cast to
 * const char ** would break the aliasing rules. */
const void *table_find(const void *rows, size_t count, size_t size, size_t offset,
                       const char *name) {
    const char *row = rows;
    for (size_t i = 0; i < count; i++, row += size) {
        const char *own;
        memcpy(&own, row + offset, sizeof(own));
        if (is(own, name))
            return row;
    }
    return NULL;
}

size_t table_index(const char *const *words, size_t count, const char *word) {
    size_t i = 0;
    while (i < count && !is(words[i], word))
        i++;
    return i;
}
