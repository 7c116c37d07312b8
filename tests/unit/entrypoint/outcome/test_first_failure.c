#include "entrypoint/outcome/first_failure.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

#define MS(n) (INT64_C(1700000000000000000) + (n)*INT64_C(1000000))

enum { RANKS = 8 };
static struct cluster_host hosts[] = {{.name = {"a"}, .slots = RANKS}};
static const struct cluster cluster = {.hosts = hosts, .count = 1};
static struct rank_report reports[RANKS];
static bool forgone[RANKS];
static struct failures all;

static void begin(void) {
    for (unsigned i = 0; i < RANKS; i++)
        reports[i] = (struct rank_report){.rank = i, .time = MS(100000)};
    memset(forgone, 0, sizeof(forgone));
    all = (struct failures){.reports = reports, .count = RANKS, .forgone = forgone};
}

static void fail(unsigned rank, enum rank_end end, int value, int64_t time, bool is_forgone) {
    reports[rank].end = end;
    reports[rank].value = value;
    reports[rank].time = time;
    forgone[rank] = is_forgone;
}

static void expect(int end, int cause) {
    const struct rank_report *e = first_failure_end(&all);
    const struct rank_report *c = first_failure_cause(&all);
    CU_ASSERT_EQUAL(e == NULL ? -1 : (int)e->rank, end);
    CU_ASSERT_EQUAL(c == NULL ? -1 : (int)c->rank, cause);
}

static void what_all_others_survived_is_no_failure(void) {
    begin();
    expect(-1, -1);
    fail(3, RANK_SIGNALLED, SIGKILL, MS(10), true);
    fail(5, RANK_EXITED, 1, MS(20), true);
    expect(-1, -1);
    CU_ASSERT_EQUAL(first_failure_count_forgone(&all), 2);
    all.forgone = NULL;
    expect(3, 3);
    CU_ASSERT_EQUAL(first_failure_count_forgone(&all), 0);
}

static void a_loss_within_ten_seconds_is_the_cause(void) {
    begin();
    fail(3, RANK_SIGNALLED, SIGKILL, MS(0), true);
    fail(0, RANK_EXITED, 70, MS(10000), false);
    fail(1, RANK_EXITED, 70, MS(10005), false);
    expect(0, 3);
    reports[3].time--;
    expect(0, 0);
    fail(4, RANK_SIGNALLED, SIGKILL, MS(0) + 1, true); /* which that one has nothing to do with */
    expect(0, 4);
}

/* The report of a rank that failed for want of another may come first, and is forgone then. */
static void a_crash_at_the_same_moment_is_preferred(void) {
    begin();
    fail(0, RANK_EXITED, 1, MS(500), true);
    fail(2, RANK_SIGNALLED, SIGSEGV, MS(540), false);
    expect(2, 2);
    reports[2].time = MS(551);
    expect(2, 0);
    fail(7, RANK_SIGNALLED, SIGABRT, MS(500) - FIRST_FAILURE_WINDOW_NS - 1, true);
    reports[0].time = MS(560); /* the abort is too old for the tie as well */
    expect(2, 2);
}

static void one_that_was_asked_to_end_is_none(void) {
    begin();
    fail(2, RANK_SIGNALLED, SIGTERM, MS(5), false);
    reports[2].cause = RANK_CAUSE_TEARDOWN;
    expect(-1, -1);
}

static void they_are_told_in_order(void) {
    char text[FIRST_FAILURE_ORDER_SIZE];
    begin();
    CU_ASSERT_EQUAL(first_failure_order(&all, &cluster, false, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
    fail(5, RANK_EXITED, 70, MS(2100), false);
    fail(1, RANK_SIGNALLED, SIGKILL, MS(0), true);
    CU_ASSERT_EQUAL(first_failure_order(&all, &cluster, false, text), 2);
    CU_ASSERT_STRING_EQUAL(
        text, "rank 1 on a killed by signal 9 (SIGKILL), 2.1 s later rank 5 on a exited with 70");
    CU_ASSERT_EQUAL(first_failure_order(&all, &cluster, true, text), 1);
    CU_ASSERT_STRING_EQUAL(text, "rank 1 on a killed by signal 9 (SIGKILL)");
    fail(1, RANK_SIGNALLED, SIGBUS, MS(0), true);
    (void)first_failure_order(&all, &cluster, true, text);
    CU_ASSERT_STRING_EQUAL(text, "rank 1 on a killed by signal 7 (SIGBUS)");
}

static void of_many_the_rest_is_counted(void) {
    char text[FIRST_FAILURE_ORDER_SIZE];
    begin();
    for (unsigned i = 0; i < RANKS; i++)
        fail(i, RANK_EXITED, 3, MS(7), true);
    CU_ASSERT_EQUAL(first_failure_order(&all, &cluster, true, text), RANKS);
    CU_ASSERT_STRING_EQUAL(
        text, "rank 0 on a exited with 3, 0.0 s later rank 1 on a exited with 3, 0.0 s later rank "
              "2 on a exited with 3, 0.0 s later rank 3 on a exited with 3, and 4 more");
}

UNIT_SUITE("outcome.first_failure", UNIT(what_all_others_survived_is_no_failure),
           UNIT(a_loss_within_ten_seconds_is_the_cause),
           UNIT(a_crash_at_the_same_moment_is_preferred), UNIT(one_that_was_asked_to_end_is_none),
           UNIT(they_are_told_in_order), UNIT(of_many_the_rest_is_counted))
