/* Copy of arrays in memory of its own. It stays as it is while the originals change. */
#ifndef TRAINER_CHECKPOINT_SNAPSHOT_H
#define TRAINER_CHECKPOINT_SNAPSHOT_H

#include "common/error.h"
#include "trainer/checkpoint/array.h"

#include <stddef.h>

struct snapshot {
    struct array *arrays; /* owned, names and data, too */
    size_t count;
    char *names;
    void *memory;
    size_t room; /* bytes of memory */
};

/* Returns the bytes of memory that a copy of ARRAYS takes. */
size_t snapshot_bytes(const struct array *arrays, size_t count);
/* Replaces what S holds by a copy of ARRAYS, on the threads of OpenMP. Memory is kept for the next
 * one. After a failure, for want of memory, S is empty. */
int snapshot_take(struct snapshot *s, const struct array *arrays, size_t count, struct error *err);
void snapshot_done(struct snapshot *s);

#endif
