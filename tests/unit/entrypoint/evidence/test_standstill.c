#include "entrypoint/evidence/standstill.h"

#include "common/clock.h"
#include "tests/support/unit.h"

/* A job that is looked at every second from SECOND on. */
struct watched {
    struct standstill rule;
    int64_t second;
};

/* Looks once a second until the silence has lasted UNTIL seconds; returns how many suspicions there
 * were, *RET_AT the silence at the first. */
static unsigned silence(struct watched *w, int64_t until, bool busy, int64_t *ret_at) {
    unsigned found = 0;
    for (int64_t still = 0; still <= until; still++) {
        bool moved = false;
        w->second++;
        if (standstill_look(&w->rule, w->second * CLOCK_SECOND, still * CLOCK_SECOND, busy,
                            &moved)) {
            if (found++ == 0)
                *ret_at = still;
        }
        CU_ASSERT_EQUAL(moved, still == 0 && w->second > 1);
    }
    return found;
}

static void idle_ranks_are_suspect_after_ten_seconds(void) {
    struct watched w = {0};
    int64_t at = 0;
    CU_ASSERT_EQUAL(silence(&w, 60, false, &at), 1);
    CU_ASSERT_EQUAL(at, STANDSTILL_SECONDS);
}

/* A long computation at the start, or one that prints nothing, is not suspect. */
static void busy_ranks_without_a_rhythm_are_never_suspect(void) {
    struct watched w = {0};
    int64_t at = 0;
    CU_ASSERT_EQUAL(silence(&w, 3600, true, &at), 0);
}

static void busy_ranks_are_suspect_out_of_their_rhythm(void) {
    struct watched w = {0};
    int64_t at = 0;
    for (unsigned i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(silence(&w, 2, true, &at), 0);
    CU_ASSERT_EQUAL(silence(&w, 60, true, &at), 1);
    CU_ASSERT_EQUAL(at, 20); /* ten times 2 s */
}

/* An evaluation of 30 s that uses no processor on these hosts is found once. */
static void a_pause_that_ended_raises_the_limit(void) {
    struct watched w = {0};
    int64_t at = 0;
    CU_ASSERT_EQUAL(silence(&w, 30, false, &at), 1);
    CU_ASSERT_EQUAL(silence(&w, 100, false, &at), 0);
    CU_ASSERT_EQUAL(silence(&w, 500, false, &at), 1);
    CU_ASSERT_EQUAL(at, 400); /* four times 100 s */
}

static void suspicions_have_an_end(void) {
    struct watched w = {0};
    unsigned found = 0;
    int64_t at = 0;
    int64_t length = 12;
    for (unsigned i = 0; i < 2 * STANDSTILL_ASKED_MAX; i++, length *= 4)
        found += silence(&w, length > 100000 ? 100000 : length, false, &at);
    CU_ASSERT_EQUAL(found, STANDSTILL_ASKED_MAX);
}

UNIT_SUITE("evidence.standstill", UNIT(idle_ranks_are_suspect_after_ten_seconds),
           UNIT(busy_ranks_without_a_rhythm_are_never_suspect),
           UNIT(busy_ranks_are_suspect_out_of_their_rhythm),
           UNIT(a_pause_that_ended_raises_the_limit), UNIT(suspicions_have_an_end))
