/* Timeline of a rank: the last spans of its work, in a ring of fixed size. A thread has a timeline
 * of its own. One without a ring costs a comparison a span. */
#ifndef TRAINER_TELEMETRY_TIMELINE_H
#define TRAINER_TELEMETRY_TIMELINE_H

#include "common/clock.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timeline_kind {
    TIMELINE_STEP,
    TIMELINE_DATA,    /* waiting for data */
    TIMELINE_FORWARD, /* of a micro-batch, and the next: its loss and gradients */
    TIMELINE_BACKWARD,
    TIMELINE_LAUNCH, /* of a micro-batch on a device, which then works by itself */
    TIMELINE_RANKS,  /* waiting for sums with other ranks */
    TIMELINE_DEVICE, /* waiting for a device */
    TIMELINE_OPTIMIZER,
    TIMELINE_EVALUATION,
    TIMELINE_CHECKPOINT,
    TIMELINE_SUM, /* and the next three: at work with other ranks, by the thread that does so */
    TIMELINE_BROADCAST,
    TIMELINE_GATHER,
    TIMELINE_BARRIER,
    TIMELINE_KINDS
};

struct timeline_span {
    int64_t begin, end; /* clock_now() */
    int64_t number;     /* of the step; for works with other ranks, their bytes */
    int64_t kind;       /* enum timeline_kind */
};

struct timeline {
    struct timeline_span *ring; /* owned; NULL: spans are dropped */
    size_t room;
    uint64_t count; /* of all spans so far */
};

int timeline_open(struct timeline *t, size_t room, struct error *err);
void timeline_done(struct timeline *t);

static inline bool timeline_is_open(const struct timeline *t) {
    return t != NULL && t->ring != NULL;
}

/* For timeline_end: the time now, 0 without a ring. T may be NULL. */
static inline int64_t timeline_begin(const struct timeline *t) {
    return timeline_is_open(t) ? clock_now() : 0;
}
void timeline_add(struct timeline *t, const struct timeline_span *span);
/* Adds a span from BEGIN to now. T may be NULL. */
static inline void timeline_end(struct timeline *t, enum timeline_kind kind, int64_t begin,
                                int64_t number) {
    if (!timeline_is_open(t))
        return;
    const struct timeline_span span = {begin, clock_now(), number, kind};
    timeline_add(t, &span);
}

/* Returns the number of spans that are kept. */
size_t timeline_count(const struct timeline *t);
/* Returns span I of those, the oldest first. */
const struct timeline_span *timeline_at(const struct timeline *t, size_t i);

#endif
