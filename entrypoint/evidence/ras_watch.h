/* Comparison of successive answers of NCCL RAS: counts that differ are normal while a job runs, and
 * a stuck collective operation if they stay as they are. Pure: the caller passes times in, in ns.
 */
#ifndef ENTRYPOINT_EVIDENCE_RAS_WATCH_H
#define ENTRYPOINT_EVIDENCE_RAS_WATCH_H

#include "entrypoint/evidence/ras_answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RAS_WATCH_SECONDS = 5, /* between two questions */
    RAS_WATCH_STUCK_SECONDS = 10,
    RAS_WATCH_ANSWERS = 3, /* that agree */
};

struct ras_seen {
    struct ras_lag lag;
    int64_t since;
    unsigned answers;
    bool reported;
};

/* Zeroed at the start. */
struct ras_watch {
    struct ras_seen seen[RAS_LAGS_MAX];
    size_t count;
    int64_t longest; /* longest reported lag that ended by itself: four times that is normal */
};

/* Takes an answer. */
void ras_watch_take(struct ras_watch *w, const struct ras_answer *answer, int64_t now);

/* Returns the lag that has lasted longest and counts as stuck, NULL if none does. *RET_NEW: it was
 * not returned before. */
const struct ras_seen *ras_watch_stuck(struct ras_watch *w, int64_t now, bool *ret_new);

#endif
