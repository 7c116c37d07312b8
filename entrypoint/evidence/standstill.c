#include "entrypoint/evidence/standstill.h"

#include "common/clock.h"

enum { IDLE_TIMES = 4, BUSY_TIMES = 10, RHYTHM_LEAST = 5 };
static const int64_t least = STANDSTILL_SECONDS * CLOCK_SECOND;

static int64_t longer(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void end_pause(struct standstill *s) {
    s->moved++;
    s->longest = longer(s->longest, s->still);
    if (s->idle)
        s->longest_idle = longer(s->longest_idle, s->still);
    s->asked = s->idle = false;
}

/* Returns the silence that is suspect; 0: none is. */
static int64_t limit(const struct standstill *s, bool busy) {
    if (!busy)
        return longer(least, IDLE_TIMES * s->longest_idle);
    return s->moved >= RHYTHM_LEAST ? longer(least, BUSY_TIMES * s->longest) : 0;
}

bool standstill_look(struct standstill *s, int64_t now, int64_t still, bool busy, bool *ret_moved) {
    bool first = s->looked_at == 0;
    *ret_moved = !first && still < now - s->looked_at + s->still;
    /* Times of hosts are rounded, and heartbeats take a moment. */
    if (*ret_moved && s->still + now - s->looked_at - still < CLOCK_SECOND / 4)
        *ret_moved = false;
    if (*ret_moved)
        end_pause(s);
    s->looked_at = now;
    s->still = still;
    s->idle = s->idle || (!busy && still > 0);
    int64_t most = limit(s, busy);
    if (s->asked || most == 0 || still < most || s->suspicions >= STANDSTILL_ASKED_MAX)
        return false;
    s->asked = true;
    s->suspicions++;
    return true;
}
