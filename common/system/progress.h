/* Progress of a rank, in memory shared with its supervisor.
 *
 * A program writes 64 bytes, and the supervisor reads them.
 *
 * The memory has no name in any folder, so no other rank finds it, and its size is sealed, so no
 * program can shrink it under the supervisor. The program inherits its descriptor and finds a path
 * to it in RINGMASTER_PROGRESS. With each step it writes a mark and its patience: how long the
 * silence until the next mark may last. A program that never writes a mark never counts as stalled.
 * It may also report how much of the rank's own time its steps took, from which stragglers are
 * found. A mark costs a few stores.
 *
 * There is one writer; the reader sees each field whole. */
#ifndef COMMON_SYSTEM_PROGRESS_H
#define COMMON_SYSTEM_PROGRESS_H

#include "common/error.h"

#include <stdint.h>

#define PROGRESS_VARIABLE "RINGMASTER_PROGRESS"

struct progress_slot;

struct progress {
    struct progress_slot
        *slot; /* mapped; NULL if no supervisor watches, and marks are then discarded */
};

struct progress_state {
    uint64_t marks; /* 0: none yet */
    uint64_t step;
    uint64_t patience_seconds; /* longest silence until the next mark; 0: no limit */
    uint64_t work_ns;  /* time of all steps without waits for other ranks; 0: not reported */
    uint64_t data_ns;  /* part of it spent waiting for data */
    uint64_t total;    /* steps in all; 0: not reported */
    uint64_t saved_ns; /* clock_boot() at the step of the last complete checkpoint; 0: none */
    uint64_t pause_ns; /* time that steps stood still for checkpoints */
};

/* Creates the memory. Returns its descriptor, or -1. */
int progress_create(struct error *err);
/* For the supervisor: maps the memory of FD, which stays the caller's. Memory of another size, or
 * of a size that is not sealed, is refused. */
int progress_adopt(struct progress *p, int fd, struct error *err);
/* For the program: maps the memory at PATH. Does nothing if PATH is NULL or its descriptor was not
 * inherited. */
int progress_open(struct progress *p, const char *path, struct error *err);
void progress_done(struct progress *p);

void progress_mark(struct progress *p, uint64_t step, uint64_t patience_seconds);
/* Adds the time of one step, of which DATA_NS were spent waiting for data. Call it before the mark
 * of that step. */
void progress_work(struct progress *p, uint64_t work_ns, uint64_t data_ns);
/* Sets the number of steps in all, for the progress line. */
void progress_total(struct progress *p, uint64_t steps);
/* Records that the checkpoint of what was done at NOW_NS (clock_boot()) is complete, for which
 * steps stood still for PAUSE_NS. */
void progress_saved(struct progress *p, uint64_t now_ns, uint64_t pause_ns);
struct progress_state progress_read(const struct progress *p);

#endif
