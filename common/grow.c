#include "common/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The smallest capacity, in items. Most lists of a job are short, such as its hosts or flags, and
 * are then allocated once. */
enum { LEAST = 16 };

/* Half of the old capacity comes on top of what is wanted, so that N single additions move each
 * item a constant number of times on average. The sum may wrap around, and the product overflow:
 * both count as no memory. realloc() leaves the old array as it was when it fails. The pointer is
 * copied by memcpy, because a pointer of another type may not be read through void **. */
int grow_array_now(void *items, size_t *capacity, size_t wanted, size_t size, const char *what,
                   struct error *err) {
    void *old;
    size_t more = wanted + *capacity / 2;
    if (more < LEAST)
        more = LEAST;
    memcpy(&old, items, sizeof(old)); /* a pointer of any type */
    /* SIZE is that of a type, and never 0. Dividing by it cannot overflow. */
    void *grown = more >= wanted && more <= SIZE_MAX / size ? realloc(old, more * size) : NULL;
    if (grown == NULL)
        return error_no_memory(err, what);
    /* Only now is the list changed, so that its owner can free it after a failure as before one. */
    memcpy(items, &grown, sizeof(grown));
    *capacity = more;
    return 0;
}
