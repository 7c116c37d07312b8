#include "entrypoint/host/watch/idleness.h"

#include "common/clock.h"

/* Less of one processor than a fiftieth is what sleeping threads use. */
enum { IDLE_SHARE = 50, LEARNED_TIMES = 4, SILENCE_PART = 8 };
/* A program that has used less has not begun to work. */
static const int64_t busy_least = 10 * CLOCK_SECOND;

static void begin_spell(struct idleness *i, int64_t now) {
    i->since = now;
    i->asked_at = i->idle_since = 0;
}

static enum idleness_news end_spell(struct idleness *i, int64_t now) {
    enum idleness_news news = i->quiet ? IDLENESS_BUSY : IDLENESS_NOTHING;
    if (i->idle_since != 0 && now - i->idle_since > i->longest)
        i->longest = now - i->idle_since;
    i->quiet = false;
    begin_spell(i, now);
    return news;
}

static void ask(struct idleness *i, const struct idleness_facts *f) {
    i->asked_at = f->now;
    i->cpu = f->cpu(f->context);
}

void idleness_skip(struct idleness *i, int64_t now) {
    if (!i->quiet)
        begin_spell(i, now);
}

/* How long a rest may last: a limit that the user has set is not stretched by what was seen. */
static int64_t allowed(const struct idleness *i, int64_t limit, bool exact) {
    return !exact && i->longest * LEARNED_TIMES > limit ? i->longest * LEARNED_TIMES : limit;
}

static bool has_worked(const struct idleness *i, const struct idleness_facts *f) {
    int64_t least = f->limit < busy_least ? f->limit : busy_least;
    return f->exact || i->cpu >= least;
}

int64_t idleness_pause(const struct idleness *i, int64_t limit, bool exact, int64_t now) {
    const int64_t first = limit / SILENCE_PART;
    int64_t due = now + limit; /* for one that is quiet: whether it still is */
    if (!i->quiet && i->asked_at == 0)
        due = i->since + first;
    else if (!i->quiet)
        due = (i->idle_since != 0 ? i->idle_since : i->asked_at) + allowed(i, limit, exact) - first;
    return due > now ? due - now : 0;
}

enum idleness_news idleness_look(struct idleness *i, const struct idleness_facts *f) {
    int64_t first = f->limit / SILENCE_PART; /* of silence, before anything is asked */
    if (i->since == 0 || f->printed != i->printed) {
        i->printed = f->printed;
        return end_spell(i, f->now);
    }
    if (f->now - i->since < first)
        return IDLENESS_NOTHING;
    int64_t asked_at = i->asked_at;
    int64_t before = i->cpu;
    ask(i, f);
    if (asked_at == 0)
        return IDLENESS_NOTHING;
    if ((i->cpu - before) * IDLE_SHARE >= f->now - asked_at)
        return end_spell(i, f->now);
    if (i->idle_since == 0)
        i->idle_since = asked_at;
    if (i->quiet || !has_worked(i, f) ||
        f->now - i->idle_since < allowed(i, f->limit, f->exact) - first)
        return IDLENESS_NOTHING;
    i->quiet = true;
    return IDLENESS_QUIET;
}
