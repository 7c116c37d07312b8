/* Memory functions for backends with arenas in host memory: rows of their backend_table.
 *
 * An arena of HOST_MEMORY_PAGE bytes or more has its own mapping. The kernel provides zeroed pages
 * when a step first touches them, so opening a large network does not touch its memory, and pages
 * that no step uses are never allocated. */
#ifndef TRAINER_GRAPH_HOST_MEMORY_H
#define TRAINER_GRAPH_HOST_MEMORY_H

#include "trainer/graph/backend.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A huge page, if the system has them: fewer TLB misses. */
enum { HOST_MEMORY_PAGE = 2 << 20 };

static inline size_t host_memory_pages(size_t bytes) {
    return (bytes + HOST_MEMORY_PAGE - 1) / HOST_MEMORY_PAGE * HOST_MEMORY_PAGE;
}

/* The kernel aligns mappings to small pages: allocate a huge page more, which contains an aligned
 * one. */
static inline void *host_memory_map(size_t bytes) {
    const size_t size = host_memory_pages(bytes);
    if (size < bytes || size > SIZE_MAX - HOST_MEMORY_PAGE)
        return NULL;
    char *all = mmap(NULL, size + HOST_MEMORY_PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    const size_t before = -(uintptr_t)all % HOST_MEMORY_PAGE;
    const size_t behind = HOST_MEMORY_PAGE - before;
    if (before > 0)
        (void)munmap(all, before);
    if (behind > 0)
        (void)munmap(all + before + size, behind);
    (void)madvise(all + before, size, MADV_HUGEPAGE);
    return all + before;
}

static inline void *host_memory_alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    void *memory = NULL;
    if (bytes >= HOST_MEMORY_PAGE) {
        memory = host_memory_map(bytes);
    } else {
        size_t whole = bytes > 0 ? backend_aligned(bytes) : BACKEND_ALIGNMENT;
        memory = aligned_alloc(BACKEND_ALIGNMENT, whole);
        if (memory != NULL)
            memset(memory, 0, whole);
    }
    if (memory == NULL)
        (void)error_no_memory(err, "an arena in host memory");
    return memory;
}

static inline void host_memory_free(struct backend *backend, void *memory, size_t bytes) {
    (void)backend;
    if (bytes < HOST_MEMORY_PAGE)
        free(memory);
    else if (memory != NULL)
        (void)munmap(memory, host_memory_pages(bytes));
}

static inline int host_memory_copy(struct backend *backend, void *to, const void *from,
                                   size_t bytes, struct error *err) {
    (void)backend;
    (void)err;
    memcpy(to, from, bytes);
    return 0;
}

/* A step has run when its call returns, so there is nothing to wait for. */
static inline int host_memory_sync(struct backend *backend, struct error *err) {
    (void)backend;
    (void)err;
    return 0;
}

#endif
