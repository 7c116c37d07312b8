/* The memory functions of a backend whose arenas lie in host memory: rows of its backend_table. */
#ifndef BACKEND_HOST_MEMORY_H
#define BACKEND_HOST_MEMORY_H

#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

static inline void *host_memory_alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    size_t whole = backend_aligned(bytes);
    whole = whole > 0 ? whole : BACKEND_ALIGNMENT;
    void *memory = aligned_alloc(BACKEND_ALIGNMENT, whole);
    if (memory == NULL) {
        (void)error_no_memory(err, "an arena");
        return NULL;
    }
    return memset(memory, 0, whole);
}

static inline void host_memory_free(struct backend *backend, void *memory, size_t bytes) {
    (void)backend;
    (void)bytes;
    free(memory);
}

static inline int host_memory_copy(struct backend *backend, void *to, const void *from,
                                   size_t bytes, struct error *err) {
    (void)backend;
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

/* Where a step has run when its call returns. */
static inline int host_memory_sync(struct backend *backend, struct error *err) {
    (void)backend;
    (void)err;
    return 0;
}

#endif
