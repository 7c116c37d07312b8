/* Clocks of workers that take steps without waiting for each other: stale synchronous parallel (Ho
 * et al., "More effective distributed ML via a stale synchronous parallel parameter server", 2013).
 *
 * A worker that has taken C steps may begin the next one while C - M <= STALENESS, where M is the
 * number of steps that the slowest has taken. So with 0 all of them take their steps together.
 *
 * When a worker wishes something of all, a halt is set: the first step that none of them can have
 * gone beyond. They take their steps up to it and then meet. They also meet after steps that each
 * of them knows by itself, such as an epoch's last. Pure: no sockets, and time is an argument. */
#ifndef TRAINER_SHARD_ASYNC_CLOCKS_H
#define TRAINER_SHARD_ASYNC_CLOCKS_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

enum async_place {
    ASYNC_COMPUTES, /* its last step has been answered */
    ASYNC_WAITS,    /* it has sent a step */
    ASYNC_MEETS,
    ASYNC_GONE /* lost, or at its end */
};

struct async_clock {
    int64_t clock; /* steps that it has taken */
    int64_t until; /* it counts as lost unless it is heard by then (clock.h) */
    enum async_place place;
};

struct async_clocks {
    int workers;
    int64_t staleness;
    int64_t halt; /* 0: none is set */
    unsigned wishes;
    struct async_clock *of; /* owned; [workers] */
};

/* How long a worker may compute a step, less than others wait for a reply; and how long it may do
 * what comes after a meeting: evaluate, write a checkpoint. */
enum { ASYNC_STEP_SECONDS = 780, ASYNC_MEETING_SECONDS = 24 * 3600 };

/* All compute from NOW on. */
int async_clocks_open(struct async_clocks *c, int workers, int64_t staleness, int64_t now,
                      struct error *err);
void async_clocks_done(struct async_clocks *c);

/* WORKER has sent the step CLOCK with its WISHES (enum async_wish). */
void async_clocks_push(struct async_clocks *c, int worker, int64_t clock, unsigned wishes);
/* Returns true if WORKER waits and may begin its next step. */
bool async_clocks_may_go(const struct async_clocks *c, int worker);
/* WORKER continues. Returns what all do after the step that it has sent (enum async_wish). */
unsigned async_clocks_go(struct async_clocks *c, int worker, int64_t now);

/* WORKER waits for the others to meet. One that meets after a step which others go beyond, though
 * nothing was wished, cannot take part any more: all fail together. */
void async_clocks_meet(struct async_clocks *c, int worker);
/* Returns true if all that are there meet. */
bool async_clocks_all_meet(const struct async_clocks *c);
/* After that: all continue. */
void async_clocks_part(struct async_clocks *c, int64_t now);

void async_clocks_leave(struct async_clocks *c, int worker);
int async_clocks_live(const struct async_clocks *c);
/* Returns the steps of the slowest worker that is there. */
int64_t async_clocks_slowest(const struct async_clocks *c);

/* Returns a worker that has not been heard in time, -1 if there is none. */
int async_clocks_late(const struct async_clocks *c, int64_t now);
/* Returns when the next one is late; INT64_MAX if none can be. */
int64_t async_clocks_deadline(const struct async_clocks *c);

#endif
