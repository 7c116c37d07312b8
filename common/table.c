#include "common/table.h"

#include <stdbool.h>
#include <string.h>

static bool is(const char *own, const char *name) {
    return own != NULL && strcmp(own, name) == 0;
}

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
