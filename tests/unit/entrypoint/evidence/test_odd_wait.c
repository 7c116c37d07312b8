#include "entrypoint/evidence/odd_wait.h"

#include "tests/support/unit.h"

#include <string.h>

enum { RANKS = 4 };

static char in_store[] = "pid 13 python3: 4 S futex_do_wait (202), 1 S do_epoll_wait (281), "
                         "1 S do_epoll_wait (232)";
static char in_collective[] = "pid 12 python3: 1 S do_epoll_wait (232), 2 S futex_do_wait (202)";
static char asleep[] = "pid 11 python3: 1 S hrtimer_nanosleep (230), 3 S futex_do_wait (202), "
                       "1 S do_epoll_wait (232)";
static char with_child[] = "pid 9 sh: 1 S do_wait (61); pid 10 python3: 3 S futex_do_wait (202)";
static char works[] = "pid 12 python3: 1 R (running)";
static char unknown[] = "";

static int64_t other;

static int64_t odd_of(char *first, char *second, char *third, char *fourth, bool fourth_ended) {
    const char *states[RANKS] = {first, second, third, fourth};
    const bool ended[RANKS] = {false, false, false, fourth_ended};
    other = -1;
    return odd_wait(states, ended, RANKS, &other);
}

static void the_rank_that_waits_elsewhere_is_found(void) {
    CU_ASSERT_EQUAL(odd_of(in_store, in_collective, asleep, in_collective, false), 2);
    CU_ASSERT_EQUAL(other, 0);
    CU_ASSERT_EQUAL(odd_of(asleep, in_collective, in_store, in_collective, false), 0);
    CU_ASSERT_EQUAL(other, 1);
    CU_ASSERT_EQUAL(odd_of(in_store, in_collective, in_collective, with_child, false), 3);
    CU_ASSERT_EQUAL(other, 0);
}

static void one_that_has_ended_is_left_out(void) {
    CU_ASSERT_EQUAL(odd_of(in_store, asleep, in_collective, asleep, true), 1);
    CU_ASSERT_EQUAL(odd_of(in_store, in_collective, in_collective, NULL, true), -1);
}

static void without_a_majority_nobody_is_named(void) {
    CU_ASSERT_EQUAL(odd_of(in_collective, in_store, in_collective, in_store, false), -1);
    CU_ASSERT_EQUAL(odd_of(asleep, asleep, in_collective, in_store, false), -1);
    CU_ASSERT_EQUAL(odd_of(asleep, with_child, in_collective, in_store, false), -1);
    CU_ASSERT_EQUAL(odd_of(asleep, in_collective, in_store, unknown, false), -1);
    CU_ASSERT_EQUAL(odd_of(asleep, in_collective, in_store, NULL, false), -1);
    CU_ASSERT_EQUAL(odd_of(unknown, unknown, unknown, asleep, false), -1);
    CU_ASSERT_EQUAL(odd_of(works, in_collective, in_collective, in_collective, false), -1);
    const char *two[] = {asleep, in_collective};
    const bool ended[2] = {false, false};
    CU_ASSERT_EQUAL(odd_wait(two, ended, 2, &other), -1);
}

/* A program chooses its name, and may try to look like a place. */
static void names_that_look_like_places_do_no_harm(void) {
    static char first[] = "pid 1 a: 1 S b: 3 S futex_do_wait (202)";
    static char endless[] = "pid 1 a: 1 S a, 1 S b, 1 S c, 1 S d, 1 S e, 1 S f, 1 S g, 1 S h, "
                            "1 S i, 1 S j, 1 S k, 1 S l, 1 S m, 1 S n, 1 S o, 1 S p, 1 S q, 1 S";
    CU_ASSERT_EQUAL(odd_of(first, first, first, first, false), -1);
    CU_ASSERT_EQUAL(odd_of(endless, first, first, first, false), 0);
}

UNIT_SUITE("evidence.odd_wait", UNIT(the_rank_that_waits_elsewhere_is_found),
           UNIT(one_that_has_ended_is_left_out), UNIT(without_a_majority_nobody_is_named),
           UNIT(names_that_look_like_places_do_no_harm))
