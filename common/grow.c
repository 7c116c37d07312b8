#include "common/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16 };

int grow_array_now(void *items, size_t *capacity, size_t wanted, size_t size, const char *what,
                   struct error *err) {
    void *old;
    size_t more = wanted + *capacity / 2;
    if (more < LEAST)
        more = LEAST;
    memcpy(&old, items, sizeof(old)); /* a pointer of any type */
    void *grown = more >= wanted && more <= SIZE_MAX / size ? realloc(old, more * size) : NULL;
    if (grown == NULL)
        return error_no_memory(err, what);
    memcpy(items, &grown, sizeof(grown));
    *capacity = more;
    return 0;
}
