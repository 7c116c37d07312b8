#include "entrypoint/evidence/ras_watch.h"

#include "common/clock.h"

#include <string.h>

enum { NORMAL_TIMES = 4 };

static bool is_same(const struct ras_lag *a, const struct ras_lag *b) {
    return a->ahead == b->ahead && a->least == b->least && a->count == b->count &&
           strcmp(a->communicator, b->communicator) == 0 && strcmp(a->operation, b->operation) == 0;
}

static const struct ras_seen *find(const struct ras_watch *w, const struct ras_lag *lag) {
    for (size_t i = 0; i < w->count; i++)
        if (is_same(&w->seen[i].lag, lag))
            return &w->seen[i];
    return NULL;
}

static void note_ends(struct ras_watch *w, const struct ras_watch *next, int64_t now) {
    for (size_t i = 0; i < w->count; i++) {
        const struct ras_seen *s = &w->seen[i];
        if (s->reported && find(next, &s->lag) == NULL && now - s->since > w->longest)
            w->longest = now - s->since;
    }
}

void ras_watch_take(struct ras_watch *w, const struct ras_answer *answer, int64_t now) {
    struct ras_watch next = {.longest = w->longest};
    for (size_t i = 0; i < answer->count; i++) {
        const struct ras_seen *before = find(w, &answer->lags[i]);
        struct ras_seen *s = &next.seen[next.count++];
        *s = before != NULL ? *before : (struct ras_seen){.since = now};
        s->lag = answer->lags[i];
        s->answers++;
    }
    note_ends(w, &next, now);
    next.longest = w->longest;
    *w = next;
}

const struct ras_seen *ras_watch_stuck(struct ras_watch *w, int64_t now, bool *ret_new) {
    const int64_t least = RAS_WATCH_STUCK_SECONDS * CLOCK_SECOND;
    const int64_t limit = NORMAL_TIMES * w->longest > least ? NORMAL_TIMES * w->longest : least;
    struct ras_seen *first = NULL;
    for (size_t i = 0; i < w->count; i++) {
        struct ras_seen *s = &w->seen[i];
        if (s->answers >= RAS_WATCH_ANSWERS && now - s->since >= limit &&
            (first == NULL || s->since < first->since))
            first = s;
    }
    *ret_new = first != NULL && !first->reported;
    if (first != NULL)
        first->reported = true;
    return first;
}
