/* Progress of a rank, in 64 bytes of memory shared by the program and its supervisor.
 *
 * The memory has no name in any folder, so no other rank finds it, and its size is sealed, so no
 * program can shrink it under the supervisor. The program inherits its descriptor and finds a path
 * to it in RINGMASTER_PROGRESS. With each step it writes a mark and its patience: how long the
 * silence until the next mark may last. A program that never writes a mark never counts as stalled.
 * It may also report how much of the rank's own time its steps took, from which stragglers are
 * found. A mark costs a few stores.
 *
 * There is one writer; the reader sees each field whole. */
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
    uint64_t work_ns;          /* of all steps, waits for other ranks aside; 0: not told */
    uint64_t data_ns;          /* of that, spent waiting for data */
};

/* New memory: its descriptor, or -1. */
int progress_create(struct error *err);
/* Maps what FD, which stays the caller's, leads to: the supervisor's side. Memory of another size,
 * or that may change it, is refused. */
int progress_adopt(struct progress *p, int fd, struct error *err);
/* Maps what PATH leads to: the program's side. With PATH NULL, or where the descriptor behind it
 * was not inherited, there is nothing to do. */
int progress_open(struct progress *p, const char *path, struct error *err);
void progress_done(struct progress *p);

void progress_mark(struct progress *p, uint64_t step, uint64_t patience_seconds);
/* Adds what a step took, of which DATA_NS for data; the mark of that step follows. */
void progress_work(struct progress *p, uint64_t work_ns, uint64_t data_ns);
struct progress_state progress_read(const struct progress *p);

#endif
