/* Signals of the user's choice: verdict.c. */
#include "entrypoint/outcome/verdict.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MS(n) (INT64_C(1700000000000000000) + (n)*INT64_C(1000000))

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 2},
                                      {.name = {"algo-2"}, .slots = 2},
                                      {.name = {"algo-3"}, .slots = 2}};
static const struct cluster cluster = {.hosts = hosts, .count = 3};

/* Six ranks on three hosts; every test changes what it is about. */
static const unsigned rank_host[6] = {0, 0, 1, 1, 2, 2};
static struct rank_report reports[6];
static struct verdict_facts facts;

static void all_ended_well(void) {
    for (unsigned i = 0; i < 6; i++)
        reports[i] = (struct rank_report){.rank = i, .host = i / 2, .time = MS(1000 + (int)i)};
    facts = (struct verdict_facts){.cluster = &cluster,
                                   .ranks = 6,
                                   .seated = 6,
                                   .rank_host = rank_host,
                                   .reports = reports,
                                   .report_count = 6};
}

static void end_rank(unsigned rank, enum rank_end end, int value, enum rank_cause cause,
                     int64_t time) {
    reports[rank].end = end;
    reports[rank].value = value;
    reports[rank].cause = cause;
    reports[rank].time = time;
    snprintf(reports[rank].lines, sizeof(reports[rank].lines), "last words of %u", rank);
}

static struct verdict judged(void) {
    struct verdict v;
    verdict_judge(&facts, &v);
    return v;
}

/* Whatever signal it is: a rank that dies of it ended as asked. */
static void dying_of_the_stop_signal_is_an_end_as_asked(void) {
    all_ended_well();
    facts.stop_asked = MS(100);
    facts.stop_host = 1;
    for (unsigned i = 0; i < 6; i++)
        end_rank(i, RANK_SIGNALLED, SIGUSR2, RANK_CAUSE_STOP, MS(200));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(v.log_tail, "rank 0: killed by signal 12");
    facts.stop_signal = SIGUSR2;
    v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(v.log_tail, "");
}

static void dying_of_the_warning_is_not_worth_another_attempt(void) {
    all_ended_well();
    end_rank(2, RANK_SIGNALLED, SIGUSR1, RANK_CAUSE_NONE, MS(500));
    struct verdict v = judged();
    CU_ASSERT(v.transient && v.code == 128 + SIGUSR1);
    facts.warned = SIGUSR1;
    v = judged();
    CU_ASSERT(!v.transient && v.code == 128 + SIGUSR1);
    ASSERT_CONTAINS(v.text, "which warned it of the end");
    reports[2].value = SIGSEGV;
    v = judged();
    CU_ASSERT(v.transient);
}

UNIT_SUITE("outcome.verdict_signals", UNIT(dying_of_the_stop_signal_is_an_end_as_asked),
           UNIT(dying_of_the_warning_is_not_worth_another_attempt))
