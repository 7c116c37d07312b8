#include "trainer/shard/async_clocks.h"

#include "common/clock.h"
#include "trainer/shard/async_wire.h"

#include <stdlib.h>

int async_clocks_open(struct async_clocks *c, int workers, int64_t staleness, int64_t now,
                      struct error *err) {
    *c = (struct async_clocks){.workers = workers, .staleness = staleness};
    c->of = calloc((size_t)workers, sizeof(*c->of));
    if (c->of == NULL)
        return error_no_memory(err, "clocks of workers");
    for (int i = 0; i < workers; i++)
        c->of[i].until = now + ASYNC_STEP_SECONDS * CLOCK_SECOND;
    return 0;
}

void async_clocks_done(struct async_clocks *c) {
    free(c->of);
    *c = (struct async_clocks){0};
}

int64_t async_clocks_slowest(const struct async_clocks *c) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < c->workers; i++)
        if (c->of[i].place != ASYNC_GONE && c->of[i].clock < least)
            least = c->of[i].clock;
    return least == INT64_MAX ? 0 : least;
}

/* The first step that no worker has been let beyond. */
static int64_t furthest(const struct async_clocks *c) {
    int64_t most = 0;
    for (int i = 0; i < c->workers; i++) {
        const struct async_clock *w = &c->of[i];
        const int64_t step = w->clock + (w->place == ASYNC_WAITS ? 0 : 1);
        if (w->place != ASYNC_GONE && step > most)
            most = step;
    }
    return most;
}

static void wish(struct async_clocks *c, unsigned wishes) {
    if (wishes == 0)
        return;
    c->wishes |= wishes;
    if (c->halt == 0)
        c->halt = furthest(c);
}

/* Some worker meets after an earlier step than CLOCK. */
static bool leaves_behind(const struct async_clocks *c, int64_t clock) {
    for (int i = 0; i < c->workers; i++)
        if (c->of[i].place == ASYNC_MEETS && c->of[i].clock < clock)
            return true;
    return false;
}

void async_clocks_push(struct async_clocks *c, int worker, int64_t clock, unsigned wishes) {
    c->of[worker].clock = clock;
    c->of[worker].place = ASYNC_WAITS;
    if (wishes == 0 && c->wishes == 0 && leaves_behind(c, clock))
        wishes = ASYNC_FAIL;
    wish(c, wishes);
}

bool async_clocks_may_go(const struct async_clocks *c, int worker) {
    const struct async_clock *w = &c->of[worker];
    return w->place == ASYNC_WAITS &&
           (c->halt > 0 || w->clock - async_clocks_slowest(c) <= c->staleness);
}

unsigned async_clocks_go(struct async_clocks *c, int worker, int64_t now) {
    struct async_clock *w = &c->of[worker];
    w->place = ASYNC_COMPUTES;
    w->until = now + ASYNC_STEP_SECONDS * CLOCK_SECOND;
    return w->clock == c->halt ? c->wishes : 0;
}

void async_clocks_meet(struct async_clocks *c, int worker) {
    struct async_clock *w = &c->of[worker];
    bool behind = false;
    w->place = ASYNC_MEETS;
    for (int i = 0; i < c->workers; i++)
        behind = behind || (c->of[i].place != ASYNC_GONE && c->of[i].clock > w->clock);
    wish(c, behind && c->wishes == 0 ? ASYNC_FAIL : 0U);
}

bool async_clocks_all_meet(const struct async_clocks *c) {
    for (int i = 0; i < c->workers; i++)
        if (c->of[i].place != ASYNC_GONE && c->of[i].place != ASYNC_MEETS)
            return false;
    return async_clocks_live(c) > 0;
}

/* A halt that is still ahead stays. */
void async_clocks_part(struct async_clocks *c, int64_t now) {
    int64_t reached = 0;
    for (int i = 0; i < c->workers; i++) {
        struct async_clock *w = &c->of[i];
        if (w->place == ASYNC_GONE)
            continue;
        w->place = ASYNC_COMPUTES;
        w->until = now + ASYNC_MEETING_SECONDS * CLOCK_SECOND;
        reached = w->clock > reached ? w->clock : reached;
    }
    if (c->halt <= reached) {
        c->halt = 0;
        c->wishes = 0;
    }
}

void async_clocks_leave(struct async_clocks *c, int worker) {
    c->of[worker].place = ASYNC_GONE;
}

int async_clocks_live(const struct async_clocks *c) {
    int count = 0;
    for (int i = 0; i < c->workers; i++)
        count += c->of[i].place != ASYNC_GONE;
    return count;
}

int async_clocks_late(const struct async_clocks *c, int64_t now) {
    for (int i = 0; i < c->workers; i++)
        if (c->of[i].place == ASYNC_COMPUTES && c->of[i].until <= now)
            return i;
    return -1;
}

int64_t async_clocks_deadline(const struct async_clocks *c) {
    int64_t next = INT64_MAX;
    for (int i = 0; i < c->workers; i++)
        if (c->of[i].place == ASYNC_COMPUTES && c->of[i].until < next)
            next = c->of[i].until;
    return next;
}
