/* A job of six ranks on three hosts: a test describes its end and has it judged. */
#ifndef TESTS_UNIT_ENTRYPOINT_OUTCOME_VERDICT_CASE_H
#define TESTS_UNIT_ENTRYPOINT_OUTCOME_VERDICT_CASE_H

#include "entrypoint/outcome/first_failure.h"
#include "entrypoint/outcome/verdict.h"
#include "tests/support/unit.h"

#include <stdio.h>

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
                                   .started = 6,
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

#endif
