/* A rank's progress, shared between the program that makes it and the supervisor that watches it:
 * a file of 64 bytes, mapped by both. The program finds its path in RINGMASTER_PROGRESS and marks
 * each step together with its patience: how long the silence until the next mark may last. A
 * program that never marks is never called stalled. Marks cost two stores.
 *
 * One writer; the reader sees each field whole. */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include "common/error.h"

#include <stdint.h>

#define PROGRESS_VARIABLE "RINGMASTER_PROGRESS"

struct progress_slot;

struct progress {
    struct progress_slot *slot; /* mapped; NULL: nobody watches, marks go nowhere */
};

struct progress_state {
    uint64_t marks; /* 0: not one yet */
    uint64_t step;
    uint64_t patience_seconds; /* 0: no limit */
};

/* Makes the file anew and maps it: the supervisor's side. */
int progress_create(struct progress *p, const char *path, struct error *err);
/* Maps the file at PATH: the program's side. With PATH NULL there is nothing to do. */
int progress_open(struct progress *p, const char *path, struct error *err);
void progress_done(struct progress *p);

void progress_mark(struct progress *p, uint64_t step, uint64_t patience_seconds);
struct progress_state progress_read(const struct progress *p);

#endif
