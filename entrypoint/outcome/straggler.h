/* Straggler detection from reported progress: compares the progress of ranks and their time per
 * step (common/system/progress.h) over a window of time.
 *
 * Pure: the caller passes times in (clock_now() of the master, ns); the numbers are whatever
 * programs have written.
 *
 * There are two kinds of evidence. Ranks that wait for each other in every step are all at the same
 * step. There a rank's own time for a step counts, if it reports that, minus the median of the
 * other ranks. If the others wait like that for STRAGGLER_SHARE percent of the time, the rank is a
 * straggler. Ranks that do not wait drift apart: one that makes its steps at less than
 * STRAGGLER_SLOW percent of the others' median rate, and is STRAGGLER_STEPS behind, is a straggler,
 * too.
 *
 * Either must hold in STRAGGLER_WINDOWS windows in a row, and is reported once per rank, for at
 * most STRAGGLER_REPORTED_MAX ranks. If most ranks are slow, none is a straggler. */
#ifndef ENTRYPOINT_OUTCOME_STRAGGLER_H
#define ENTRYPOINT_OUTCOME_STRAGGLER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STRAGGLER_SHARE = 25,
    STRAGGLER_SLOW = 75,
    STRAGGLER_STEPS = 10, /* also the minimum in a window, by the median */
    STRAGGLER_WINDOWS = 2,
    STRAGGLER_WINDOW_SECONDS = 15, /* longer if steps take longer */
    STRAGGLER_FRESH_SECONDS = 7,   /* an older report says nothing about now */
    STRAGGLER_REPORTED_MAX = 8,
    STRAGGLER_TEXT_SIZE = 256
};

struct straggler_point {
    int64_t at; /* when it was heard; 0: never */
    uint64_t step;
    uint64_t work_us; /* of all its steps; 0: not reported */
    uint64_t data_us; /* of that, for data */
};

struct straggler_rank {
    struct straggler_point first; /* of this window */
    struct straggler_point last;
    unsigned windows; /* number in a row in which it delayed the others */
    bool reported;
};

/* Zeroed, it is closed. */
struct straggler {
    struct straggler_rank *ranks; /* owned */
    double *sorted[3];            /* owned: room for medians */
    size_t count;
    int64_t begun; /* this window; 0: not yet */
    unsigned reported;
};

int straggler_open(struct straggler *p, size_t ranks, struct error *err);
void straggler_done(struct straggler *p);

/* Adds a report of RANK, which must exist. */
void straggler_put(struct straggler *p, size_t rank, const struct straggler_point *point);

/* Returns the furthest step in the last reports; 0: none. */
uint64_t straggler_furthest(const struct straggler *p);

/* Seconds per step; unknown values are 0. */
struct straggler_finding {
    size_t rank;
    uint64_t step;
    bool behind;    /* it makes fewer steps; else all ranks wait for it in every step */
    double seconds; /* its own time for a step, of which DATA for data; or the time between steps */
    double data;
    double others; /* the median of the same, of OTHERS_COUNT ranks */
    size_t others_count;
};

/* Call it every few seconds; ENDED is indexed by rank. Returns true if there is something to
 * report. */
bool straggler_judge(struct straggler *p, const bool *ended, int64_t now,
                     struct straggler_finding *ret);

/* "rank 3 needs ...", for people. */
void straggler_describe(const struct straggler_finding *f, char text[STRAGGLER_TEXT_SIZE]);

#endif
