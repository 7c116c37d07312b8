#include "trainer/telemetry/timeline.h"

#include <stdlib.h>

/* Only this call allocates. A timeline that was never opened is zeroed, and its ring is NULL. */
int timeline_open(struct timeline *t, size_t room, struct error *err) {
    *t = (struct timeline){.ring = calloc(room, sizeof(*t->ring)), .room = room};
    return t->ring != NULL ? 0 : error_no_memory(err, "a timeline");
}

void timeline_done(struct timeline *t) {
    free(t->ring);
    *t = (struct timeline){0};
}

/* The ring has room for t->room spans; the next one overwrites the oldest. The count continues, so
 * that it tells where in the ring the next one belongs, and how many were dropped. */
void timeline_add(struct timeline *t, const struct timeline_span *span) {
    t->ring[t->count++ % t->room] = *span;
}

size_t timeline_count(const struct timeline *t) {
    return t->count < t->room ? (size_t)t->count : t->room;
}

/* The oldest span that is kept is number t->count less the spans kept, of all spans so far. I must
 * be below timeline_count(). */
const struct timeline_span *timeline_at(const struct timeline *t, size_t i) {
    return &t->ring[(t->count - timeline_count(t) + i) % t->room];
}
