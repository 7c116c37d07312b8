#include "entrypoint/host/monitor/stall.h"

#include "common/clock.h"

/* Fewer marks than SEEN_LEAST teach nothing, because the first steps are slow. */
enum { LATE_TIMES = 10, STALLED_TIMES = 20, SEEN_LEAST = 10, LIMIT_PART = 8 };
static const int64_t late_least = 30 * CLOCK_SECOND;
static const int64_t stalled_least = 60 * CLOCK_SECOND;
/* A program that has just begun may soon set its limits, so looks are frequent at first. */
static const int64_t pause_least = 4 * CLOCK_SECOND;
static const int64_t pause_most = 60 * CLOCK_SECOND;

/* TIMES the longest silence seen so far, but at least LEAST. */
static int64_t learned(const struct stall *v, int64_t times, int64_t least) {
    return v->longest * times > least ? v->longest * times : least;
}

int64_t stall_limit(const struct stall *v, const struct progress_state *state,
                    const struct stall_rule *rule) {
    const uint64_t patience = state->patience_seconds;
    int64_t limit = rule->most;
    if (limit > 0 && patience > 0 && patience < (uint64_t)(limit / CLOCK_SECOND))
        limit = (int64_t)patience * CLOCK_SECOND;
    if (!rule->learned || v->seen < SEEN_LEAST || v->patience > v->usual)
        return limit;
    int64_t taught = learned(v, STALLED_TIMES, stalled_least);
    return limit == 0 || taught < limit ? taught : limit;
}

/* Notes new marks. If looks are far apart, many marks may lie between them, so only the silence
 * until the last look is certain to have been one. */
static void note(struct stall *v, const struct progress_state *state, int64_t now) {
    const bool close = now - v->looked_at < 2 * pause_least;
    const int64_t silence = (close ? now : v->looked_at) - v->marked_at;
    if (v->marks != 0) {
        if (v->seen++ == 0 || v->patience < v->usual)
            v->usual = v->patience;
        if (silence > v->longest)
            v->longest = silence;
    }
    v->marks = state->marks;
    v->patience = state->patience_seconds > 0 ? state->patience_seconds : UINT64_MAX;
    v->marked_at = now;
    v->late = false;
}

static bool is_late(const struct stall *v, int64_t silence) {
    return !v->late && v->seen >= SEEN_LEAST && silence >= learned(v, LATE_TIMES, late_least);
}

enum stall_news stall_look(struct stall *v, const struct progress_state *state,
                           const struct stall_rule *rule, int64_t now) {
    if (state->marks != v->marks)
        note(v, state, now);
    v->looked_at = now;
    int64_t most = stall_limit(v, state, rule);
    if (v->marks == 0 || v->stalled)
        return STALL_NOTHING;
    if (most > 0 && now - v->marked_at >= most) {
        v->stalled = true;
        return STALL_STALLED;
    }
    if (!is_late(v, now - v->marked_at))
        return STALL_NOTHING;
    v->late = true;
    return STALL_LATE;
}

void stall_skip(struct stall *v, int64_t now) {
    v->marked_at = now;
    v->looked_at = now;
}

bool stall_is_taught(const struct stall *v) {
    return v->marks == 0 || v->seen >= SEEN_LEAST;
}

int64_t stall_pause(int64_t pause, int64_t limit) {
    int64_t most = limit / LIMIT_PART;
    if (most > pause_most || limit == 0)
        most = pause_most;
    pause = pause == 0 ? pause_least : 2 * pause;
    if (pause > most)
        pause = most;
    return pause > pause_least ? pause : pause_least;
}
