#include "entrypoint/host/monitor/idle.h"

#include "common/clock.h"

/* Sleeping threads use less than a fiftieth of a processor. */
enum { IDLE_SHARE = 50, LEARNED_TIMES = 4, SILENCE_PART = 8 };
/* A program that has used less CPU time has not begun to work. */
static const int64_t busy_least = 10 * CLOCK_SECOND;

static void begin_spell(struct idle *i, int64_t now) {
    i->since = now;
    i->asked_at = i->idle_since = 0;
}

static enum idle_news end_spell(struct idle *i, int64_t now) {
    enum idle_news news = i->quiet ? IDLE_BUSY : IDLE_NOTHING;
    if (i->idle_since != 0 && now - i->idle_since > i->longest)
        i->longest = now - i->idle_since;
    i->quiet = false;
    begin_spell(i, now);
    return news;
}

static void ask(struct idle *i, const struct idle_facts *f) {
    i->asked_at = f->now;
    i->cpu = f->cpu(f->context);
}

void idle_skip(struct idle *i, int64_t now) {
    if (!i->quiet)
        begin_spell(i, now);
}

/* The longest permitted idle time. Observed idle times extend it, unless the user set it exactly.
 */
static int64_t allowed(const struct idle *i, int64_t limit, bool exact) {
    return !exact && i->longest * LEARNED_TIMES > limit ? i->longest * LEARNED_TIMES : limit;
}

static bool has_worked(const struct idle *i, const struct idle_facts *f) {
    int64_t least = f->limit < busy_least ? f->limit : busy_least;
    return f->exact || i->cpu >= least;
}

int64_t idle_pause(const struct idle *i, int64_t limit, bool exact, int64_t now) {
    const int64_t first = limit / SILENCE_PART;
    int64_t due = now + limit; /* for a quiet rank: time to check whether it still is */
    if (!i->quiet && i->asked_at == 0)
        due = i->since + first;
    else if (!i->quiet)
        due = (i->idle_since != 0 ? i->idle_since : i->asked_at) + allowed(i, limit, exact) - first;
    return due > now ? due - now : 0;
}

enum idle_news idle_look(struct idle *i, const struct idle_facts *f) {
    int64_t first = f->limit / SILENCE_PART; /* length of silence before CPU time is read */
    if (i->since == 0 || f->printed != i->printed) {
        i->printed = f->printed;
        return end_spell(i, f->now);
    }
    if (f->now - i->since < first)
        return IDLE_NOTHING;
    int64_t asked_at = i->asked_at;
    int64_t before = i->cpu;
    ask(i, f);
    if (asked_at == 0)
        return IDLE_NOTHING;
    if ((i->cpu - before) * IDLE_SHARE >= f->now - asked_at)
        return end_spell(i, f->now);
    if (i->idle_since == 0)
        i->idle_since = asked_at;
    if (i->quiet || !has_worked(i, f) ||
        f->now - i->idle_since < allowed(i, f->limit, f->exact) - first)
        return IDLE_NOTHING;
    i->quiet = true;
    return IDLE_QUIET;
}
