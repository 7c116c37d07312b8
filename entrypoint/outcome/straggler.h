/* Who holds the others up: how far ranks are and what their steps take, as programs that show
 * progress tell (common/progress.h), compared over a window of time. Pure: times are handed in
 * (clock_now() of the master, ns), numbers are whatever programs have written.
 *
 * Two things are evidence. Ranks that wait for each other in every step are all at the same one:
 * there a rank's own time for a step counts, where it tells that, less what the other ranks need in
 * the middle (their median). Where the others wait so for STRAGGLER_SHARE percent of the time, it
 * holds them up. Ranks that do not wait drift apart: one that makes its steps at less than
 * STRAGGLER_SLOW percent of the others' median rate, and is STRAGGLER_STEPS behind, is behind.
 * Either has to hold in STRAGGLER_WINDOWS windows in a row, and is said once a rank, of
 * STRAGGLER_TOLD_MAX ranks at most. Where most ranks are slow nobody is. */
#ifndef ENTRYPOINT_OUTCOME_STRAGGLER_H
#define ENTRYPOINT_OUTCOME_STRAGGLER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STRAGGLER_SHARE = 25,
    STRAGGLER_SLOW = 75,
    STRAGGLER_STEPS = 10, /* also the fewest in a window, by the median */
    STRAGGLER_WINDOWS = 2,
    STRAGGLER_WINDOW_SECONDS = 15, /* longer where steps are */
    STRAGGLER_FRESH_SECONDS = 7,   /* an older word says nothing of now */
    STRAGGLER_TOLD_MAX = 8,
    STRAGGLER_TEXT_SIZE = 256
};

struct straggler_point {
    int64_t at; /* when it was heard; 0: never */
    uint64_t step;
    uint64_t work_us; /* of all its steps; 0: it does not tell */
    uint64_t data_us; /* of that, for data */
};

struct straggler_rank {
    struct straggler_point first; /* of this window */
    struct straggler_point last;
    unsigned windows; /* in a row, in which it held the others up */
    bool told;
};

/* Zeroed it is closed. */
struct straggler {
    struct straggler_rank *ranks; /* owned */
    double *sorted[3];            /* owned: room for medians */
    size_t count;
    int64_t begun; /* this window; 0: not yet */
    unsigned told;
};

int straggler_open(struct straggler *p, size_t ranks, struct error *err);
void straggler_done(struct straggler *p);

/* A word about RANK, which there is. */
void straggler_put(struct straggler *p, size_t rank, const struct straggler_point *point);

/* The furthest step of which the last word of a rank tells; 0: none does. */
uint64_t straggler_furthest(const struct straggler *p);

/* Seconds a step; what is not known is 0. */
struct straggler_finding {
    size_t rank;
    uint64_t step;
    bool behind;    /* it makes fewer steps; else all wait for it in every step */
    double seconds; /* its own time for a step, of which DATA for data; or the time between steps */
    double data;
    double others; /* the median of the same, of OTHERS_COUNT ranks */
    size_t others_count;
};

/* To be called every few seconds; ENDED by rank. True when there is something to say. */
bool straggler_judge(struct straggler *p, const bool *ended, int64_t now,
                     struct straggler_finding *ret);

/* "rank 3 needs ...", for people. */
void straggler_describe(const struct straggler_finding *f, char text[STRAGGLER_TEXT_SIZE]);

#endif
