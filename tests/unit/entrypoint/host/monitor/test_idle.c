#include "common/clock.h"
#include "entrypoint/host/monitor/idle.h"
#include "tests/support/unit.h"

/* A program as it looks every three seconds: what it prints and uses meanwhile. */
struct program {
    struct idle i;
    int64_t now;
    uint64_t printed;
    int64_t cpu;
    unsigned asked;
    bool exact; /* the limit is the user's */
};

static int64_t cpu_of(void *context) {
    struct program *p = context;
    p->asked++;
    return p->cpu;
}

/* SECONDS more, with so many bytes a look and a share of a processor; what came of it last. */
static enum idle_news go_on(struct program *p, int64_t seconds, uint64_t bytes, double share) {
    enum idle_news news = IDLE_NOTHING;
    for (int64_t passed = 0; passed < seconds; passed += 3) {
        p->now += 3 * CLOCK_SECOND;
        p->printed += bytes;
        p->cpu += (int64_t)(3e9 * share);
        const struct idle_facts facts = {.now = p->now,
                                         .limit = 600 * CLOCK_SECOND,
                                         .exact = p->exact,
                                         .printed = p->printed,
                                         .cpu = cpu_of,
                                         .context = p};
        enum idle_news now = idle_look(&p->i, &facts);
        if (now != IDLE_NOTHING)
            news = now;
    }
    return news;
}

static void silence_and_idleness_together_count(void) {
    struct program p = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(go_on(&p, 60, 10, 1), IDLE_NOTHING);
    CU_ASSERT_EQUAL(p.asked, 0); /* a rank that prints is not asked */
    CU_ASSERT_EQUAL(go_on(&p, 2000, 0, 0.5), IDLE_NOTHING);
    CU_ASSERT(p.asked < 100);
    CU_ASSERT_EQUAL(go_on(&p, 2000, 1, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 590, 0, 0.01), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 30, 0, 0.01), IDLE_QUIET);
    CU_ASSERT_EQUAL(go_on(&p, 600, 0, 0), IDLE_NOTHING); /* told once */
    CU_ASSERT_EQUAL(go_on(&p, 3, 1, 0), IDLE_BUSY);
    CU_ASSERT_FALSE(p.i.quiet);
}

static void what_was_never_busy_is_left_alone(void) {
    struct program p = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(go_on(&p, 9, 100, 0.9), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 100000, 0, 0), IDLE_NOTHING);
}

/* The hangs that people have are at the start, before there was anything to do. */
static void a_limit_of_the_users_holds_from_the_start(void) {
    struct program p = {.now = CLOCK_SECOND, .exact = true};
    CU_ASSERT_EQUAL(go_on(&p, 590, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 30, 0, 0), IDLE_QUIET);
    CU_ASSERT_EQUAL(p.cpu, 0);
    /* Nor does a rest that ended stretch it. */
    CU_ASSERT_EQUAL(go_on(&p, 3, 10, 1), IDLE_BUSY);
    CU_ASSERT_EQUAL(go_on(&p, 540, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 3, 10, 1), IDLE_NOTHING);
    CU_ASSERT(p.i.longest > 400 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(go_on(&p, 590, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(idle_pause(&p.i, 600 * CLOCK_SECOND, true, p.now),
                    p.i.idle_since + 525 * CLOCK_SECOND - p.now);
    CU_ASSERT_EQUAL(go_on(&p, 30, 0, 0), IDLE_QUIET);
}

static void a_rest_that_ended_teaches(void) {
    struct program p = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(go_on(&p, 60, 10, 1), IDLE_NOTHING);
    /* 400 s of rest, of which 75 of silence are not asked about; then 1,300 are allowed. */
    CU_ASSERT_EQUAL(go_on(&p, 399, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 60, 10, 1), IDLE_NOTHING);
    CU_ASSERT(p.i.longest > 300 * CLOCK_SECOND && p.i.longest < 400 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(go_on(&p, 1200, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 200, 0, 0), IDLE_QUIET);
    /* Even a quiet one that wakes has taught something. */
    CU_ASSERT_EQUAL(go_on(&p, 300, 0, 1), IDLE_BUSY);
    CU_ASSERT(p.i.longest > 1200 * CLOCK_SECOND);
}

static void time_that_nobody_saw_does_not_count(void) {
    struct program p = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(go_on(&p, 60, 10, 1), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 300, 0, 0), IDLE_NOTHING);
    p.now += 10000 * CLOCK_SECOND;
    idle_skip(&p.i, p.now);
    CU_ASSERT_EQUAL(go_on(&p, 500, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(go_on(&p, 150, 0, 0), IDLE_QUIET);
    idle_skip(&p.i, p.now);
    CU_ASSERT(p.i.quiet);
}

/* As a host alone looks: when nothing but that can be found. */
static void two_looks_tell_of_a_silence(void) {
    struct program p = {.now = CLOCK_SECOND, .cpu = 20 * CLOCK_SECOND};
    const int64_t limit = 600 * CLOCK_SECOND;
    unsigned looks = 0;
    enum idle_news news = IDLE_NOTHING;
    idle_skip(&p.i, p.now);
    CU_ASSERT_EQUAL(idle_pause(&p.i, limit, false, p.now), 75 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(idle_pause(&p.i, limit, false, p.now + 100 * CLOCK_SECOND), 0);
    while (news == IDLE_NOTHING && looks < 10) {
        p.now += idle_pause(&p.i, limit, false, p.now);
        const struct idle_facts facts = {
            .now = p.now, .limit = limit, .cpu = cpu_of, .context = &p};
        news = idle_look(&p.i, &facts);
        looks++;
    }
    CU_ASSERT_EQUAL(news, IDLE_QUIET);
    CU_ASSERT_EQUAL(looks, 2);
    CU_ASSERT_EQUAL(p.now, CLOCK_SECOND + limit);
    CU_ASSERT_EQUAL(idle_pause(&p.i, limit, false, p.now), limit);
    /* What it has taught counts. */
    CU_ASSERT_EQUAL(go_on(&p, 3, 1, 0), IDLE_BUSY);
    CU_ASSERT_EQUAL(go_on(&p, 75, 0, 0), IDLE_NOTHING);
    CU_ASSERT_EQUAL(idle_pause(&p.i, limit, false, p.now), 4 * p.i.longest - 75 * CLOCK_SECOND);
}

UNIT_SUITE("host.idle", UNIT(two_looks_tell_of_a_silence),
           UNIT(silence_and_idleness_together_count), UNIT(what_was_never_busy_is_left_alone),
           UNIT(a_limit_of_the_users_holds_from_the_start), UNIT(a_rest_that_ended_teaches),
           UNIT(time_that_nobody_saw_does_not_count))
