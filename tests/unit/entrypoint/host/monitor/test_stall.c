#include "entrypoint/host/monitor/stall.h"

#include "common/clock.h"
#include "tests/support/unit.h"

static const int64_t limit = 600 * CLOCK_SECOND;
static const struct stall_rule usual = {.most = 600 * CLOCK_SECOND};
static const struct stall_rule learned = {.most = 600 * CLOCK_SECOND, .learned = true};

struct rank {
    struct stall stall;
    struct progress_state state;
    int64_t now;
    const struct stall_rule *rule; /* NULL: the usual one */
};

static const struct stall_rule *rule_of(const struct rank *r) {
    return r->rule != NULL ? r->rule : &usual;
}

/* Looks every three seconds for SECONDS; returns the last news. */
static enum stall_news wait(struct rank *r, int64_t seconds) {
    enum stall_news news = STALL_NOTHING;
    for (int64_t passed = 0; passed < seconds; passed += 3) {
        r->now += 3 * CLOCK_SECOND;
        enum stall_news now = stall_look(&r->stall, &r->state, rule_of(r), r->now);
        if (now != STALL_NOTHING)
            news = now;
    }
    return news;
}

static enum stall_news mark(struct rank *r, unsigned times, int64_t apart) {
    enum stall_news news = STALL_NOTHING;
    for (unsigned i = 0; i < times; i++) {
        r->state.marks++;
        enum stall_news now = wait(r, apart);
        if (now != STALL_NOTHING)
            news = now;
    }
    return news;
}

static void who_never_marks_is_never_stalled(void) {
    struct rank r = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(wait(&r, 7200), STALL_NOTHING);
}

static void silence_behind_a_mark_has_a_limit(void) {
    struct rank r = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(mark(&r, 1, 599), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 6), STALL_STALLED);
    CU_ASSERT_EQUAL(wait(&r, 6000), STALL_NOTHING); /* it is reported once */
}

static void patience_shortens_the_limit_and_never_makes_it_longer(void) {
    static const struct stall_rule none = {0};
    const struct stall v = {0};
    struct progress_state state = {.patience_seconds = 20};
    CU_ASSERT_EQUAL(stall_limit(&v, &state, &usual), 20 * CLOCK_SECOND);
    state.patience_seconds = UINT64_MAX;
    CU_ASSERT_EQUAL(stall_limit(&v, &state, &usual), limit);
    state.patience_seconds = 20;
    CU_ASSERT_EQUAL(stall_limit(&v, &state, &none), 0); /* no limit */
    struct rank r = {.state = {.patience_seconds = 20}, .now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(mark(&r, 1, 18), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 6), STALL_STALLED);
}

/* With steps of three seconds, a silence of 30 is reported once and ends nothing. */
static void what_it_has_shown_teaches_when_it_is_late(void) {
    struct rank r = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(mark(&r, 12, 3), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 24), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 6), STALL_LATE);
    CU_ASSERT_EQUAL(wait(&r, 300), STALL_NOTHING);
    /* The rank went on, so a step this long is nothing new. */
    CU_ASSERT_EQUAL(mark(&r, 2, 300), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 600), STALL_STALLED);
}

/* Only where the rule asks for it: a silence ten times as long as any before is reported, and one
 * of twice that length is a stall, but never one shorter than a minute. */
static void what_it_has_shown_limits_its_silence(void) {
    struct rank r = {.now = CLOCK_SECOND, .rule = &learned};
    CU_ASSERT_EQUAL(mark(&r, 12, 3), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 27), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 3), STALL_LATE);
    CU_ASSERT_EQUAL(wait(&r, 27), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 3), STALL_STALLED);
    struct rank slow = {.now = CLOCK_SECOND, .rule = &learned};
    CU_ASSERT_EQUAL(mark(&slow, 12, 9), STALL_NOTHING);
    CU_ASSERT_EQUAL(stall_limit(&slow.stall, &slow.state, &learned), 180 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(wait(&slow, 171), STALL_LATE); /* 6 s had already passed */
    CU_ASSERT_EQUAL(wait(&slow, 3), STALL_STALLED);
    /* The learned limit never exceeds the configured one, if there is one. */
    struct rank slowest = {.now = CLOCK_SECOND, .rule = &learned};
    CU_ASSERT_EQUAL(mark(&slowest, 12, 60), STALL_NOTHING);
    CU_ASSERT_EQUAL(stall_limit(&slowest.stall, &slowest.state, &learned), limit);
    static const struct stall_rule alone = {.learned = true};
    CU_ASSERT_EQUAL(stall_limit(&slowest.stall, &slowest.state, &alone), 1200 * CLOCK_SECOND);
}

static void ten_silences_teach_no_limit_yet(void) {
    static const struct stall_rule alone = {.learned = true};
    struct rank r = {.now = CLOCK_SECOND, .rule = &alone};
    CU_ASSERT_EQUAL(mark(&r, 10, 3), STALL_NOTHING);
    CU_ASSERT_EQUAL(stall_limit(&r.stall, &r.state, &alone), 0);
    CU_ASSERT_EQUAL(wait(&r, 6000), STALL_NOTHING);
    CU_ASSERT_EQUAL(mark(&r, 1, 3), STALL_NOTHING);
    CU_ASSERT(stall_limit(&r.stall, &r.state, &alone) > 20 * 6000 * CLOCK_SECOND);
}

/* A step for which the program asks for more patience, such as a checkpoint, is not judged by the
 * other steps. */
static void who_asks_for_more_patience_has_it(void) {
    static const uint64_t patience[][2] = {{300, 301}, {300, 0}, {300, 300}, {300, 100}, {0, 0}};
    static const bool taught[] = {false, false, true, true, true};
    for (size_t i = 0; i < sizeof(taught) / sizeof(taught[0]); i++) {
        struct rank r = {.now = CLOCK_SECOND, .rule = &learned};
        r.state.patience_seconds = patience[i][0];
        CU_ASSERT_EQUAL(mark(&r, 12, 3), STALL_NOTHING);
        r.state.patience_seconds = patience[i][1];
        CU_ASSERT_EQUAL(mark(&r, 1, 54), STALL_LATE);
        CU_ASSERT_EQUAL(wait(&r, 9), taught[i] ? STALL_STALLED : STALL_NOTHING);
    }
}

static void the_first_steps_teach_nothing(void) {
    struct rank r = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(mark(&r, 5, 3), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 500), STALL_NOTHING);
}

static void time_in_which_nobody_looked_does_not_count(void) {
    struct rank r = {.now = CLOCK_SECOND};
    CU_ASSERT_EQUAL(mark(&r, 1, 3), STALL_NOTHING);
    r.now += 3600 * CLOCK_SECOND;
    stall_skip(&r.stall, r.now);
    CU_ASSERT_EQUAL(wait(&r, 594), STALL_NOTHING);
    CU_ASSERT_EQUAL(wait(&r, 9), STALL_STALLED);
}

/* Looks LOOKS times, at a single host's intervals, while the rank makes PER_SECOND marks or none;
 * returns the last news. */
static enum stall_news look_alone(struct rank *r, int64_t *pause, unsigned looks,
                                  uint64_t per_second) {
    enum stall_news news = STALL_NOTHING;
    for (unsigned i = 0; i < looks; i++) {
        *pause = stall_pause(stall_is_taught(&r->stall) ? *pause : 0, limit);
        r->now += *pause;
        r->state.marks += per_second * (uint64_t)(*pause / CLOCK_SECOND);
        enum stall_news now = stall_look(&r->stall, &r->state, rule_of(r), r->now);
        if (now != STALL_NOTHING)
            news = now;
    }
    return news;
}

/* Two looks are enough to see a silence, however far apart they have become. */
static void a_host_alone_tells_of_one_that_is_late(void) {
    struct rank r = {.now = CLOCK_SECOND};
    int64_t pause = 0;
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 10, 2), STALL_NOTHING);
    CU_ASSERT_EQUAL(pause, 4 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 30, 2), STALL_NOTHING);
    CU_ASSERT_EQUAL(pause, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 1, 0), STALL_LATE);
    /* A gap of a minute was seen: ten times that is as long as the limit, so the rank is not
     * reported as late first. */
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 1, 2), STALL_NOTHING);
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 9, 0), STALL_NOTHING);
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 1, 0), STALL_STALLED);
}

/* Marks that come a minute apart are not late when one takes two minutes. */
static void a_host_alone_learns_how_slow_its_ranks_are(void) {
    struct rank r = {.now = CLOCK_SECOND};
    int64_t pause = 0;
    for (unsigned i = 0; i < 20; i++) {
        r.state.marks++;
        int64_t end = r.now + 60 * CLOCK_SECOND;
        while (r.now < end)
            CU_ASSERT_EQUAL(look_alone(&r, &pause, 1, 0), STALL_NOTHING);
    }
    CU_ASSERT_EQUAL(pause, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(look_alone(&r, &pause, 2, 0), STALL_NOTHING);
}

static void looks_become_rare(void) {
    int64_t pause = 0;
    int64_t sum = 0;
    for (unsigned looks = 0; looks < 5; looks++)
        sum += pause = stall_pause(pause, limit);
    CU_ASSERT_EQUAL(pause, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(sum, (4 + 8 + 16 + 32 + 60) * CLOCK_SECOND);
    CU_ASSERT_EQUAL(stall_pause(pause, 80 * CLOCK_SECOND), 10 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(stall_pause(pause, CLOCK_SECOND), 4 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(stall_pause(pause, 0), 60 * CLOCK_SECOND);
}

UNIT_SUITE("host.stall", UNIT(who_never_marks_is_never_stalled),
           UNIT(silence_behind_a_mark_has_a_limit),
           UNIT(patience_shortens_the_limit_and_never_makes_it_longer),
           UNIT(what_it_has_shown_teaches_when_it_is_late),
           UNIT(what_it_has_shown_limits_its_silence), UNIT(ten_silences_teach_no_limit_yet),
           UNIT(who_asks_for_more_patience_has_it), UNIT(the_first_steps_teach_nothing),
           UNIT(time_in_which_nobody_looked_does_not_count), UNIT(looks_become_rare),
           UNIT(a_host_alone_tells_of_one_that_is_late),
           UNIT(a_host_alone_learns_how_slow_its_ranks_are))
