#include "trainer/data/codec/resize_axis.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

void *resize_grown(void *old, size_t *capacity, size_t size) {
    if (size <= *capacity)
        return old;
    free(old);
    const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *fresh = aligned_alloc(ALIGNMENT, whole);
    *capacity = fresh == NULL ? 0 : whole;
    return fresh;
}
