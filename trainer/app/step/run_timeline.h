/* Trace file of --timeline: the last spans of all ranks (telemetry/trace_file.h), on the clock of
 * rank 0. */
#ifndef TRAINER_APP_STEP_RUN_TIMELINE_H
#define TRAINER_APP_STEP_RUN_TIMELINE_H

#include "common/error.h"
#include "trainer/comm/clock_offset.h"
#include "trainer/comm/comm.h"
#include "trainer/telemetry/timeline.h"

/* Spans of all ranks together, and of one. */
enum {
    RUN_TIMELINE_SPANS = 1 << 20,
    RUN_TIMELINE_RANK_MAX = 1 << 16,
    RUN_TIMELINE_RANK_MIN = 1024
};

struct run_timeline {
    const char *path;      /* borrowed; NULL: none */
    struct timeline steps; /* of the thread that trains */
    struct timeline works; /* of the one that works with other ranks */
    struct clock_offset start;
};

/* Collective. Without a PATH it does nothing. Errors name --timeline. */
int run_timeline_open(struct run_timeline *t, const char *path, struct comm *comm,
                      struct error *err);
/* Collective, with no work under way: rank 0 writes the file. */
int run_timeline_write(struct run_timeline *t, struct comm *comm, struct error *err);
void run_timeline_done(struct run_timeline *t);

#endif
