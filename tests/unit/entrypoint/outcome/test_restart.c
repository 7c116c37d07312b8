#include "common/clock.h"
#include "entrypoint/outcome/restart.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct cluster_host hosts[] = {{.name = {"algo-1"}}, {.name = {"algo-2"}}};
static const struct cluster cluster = {.hosts = hosts, .count = 2};
static const struct verdict crash = {
    .code = 137, .transient = true, .class_name = "signal", .text = "a crash"};
static const struct verdict chosen = {.code = 42, .text = "its own word"};
static struct restart_decision decision;

static struct restart_facts about(const struct verdict *verdict, unsigned attempt) {
    return (struct restart_facts){
        .cluster = &cluster, .verdict = verdict, .attempt = attempt, .stop_host = -1};
}

static bool again(struct settings s, struct restart_facts f) {
    restart_decide(&s, &f, &decision);
    return decision.again;
}

static void restarts_are_counted(void) {
    const struct settings none = {0};
    const struct settings two = {.restarts = 2};
    CU_ASSERT_FALSE(again(none, about(&crash, 1)));
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "a crash");
    CU_ASSERT(again(two, about(&crash, 1)));
    CU_ASSERT(again(two, about(&crash, 2)));
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "a crash");
    CU_ASSERT_FALSE(again(two, about(&crash, 3)));
    CU_ASSERT_STRING_EQUAL(decision.why, "");
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "a crash; attempt 3 of 3");
    CU_ASSERT_FALSE(again(two, about(&chosen, 1)));
    ASSERT_CONTAINS(decision.why, "no restart after this kind of failure");
    CU_ASSERT_STRING_EQUAL(decision.verdict.text,
                           "its own word; attempt 1 of 3, no restart after this kind of failure");
    const struct verdict stopped = {.code = EXIT_CODE_STOPPED};
    CU_ASSERT_FALSE(again(two, about(&stopped, 1)));
    CU_ASSERT_STRING_EQUAL(decision.why, "");
    const struct verdict terminated = {.code = EXIT_CODE_STOPPED, .transient = true};
    CU_ASSERT(again(two, about(&terminated, 1))); /* SIGTERM ended mpirun: no stop request */
    const struct verdict well = {.code = 0, .text = "well", .transient = true};
    CU_ASSERT_FALSE(again(two, about(&well, 1)));
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "well");
    CU_ASSERT_FALSE(again(two, about(&well, 2)));
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "well; attempt 2 of 3");
}

static void exit_codes_that_are_listed_are_worth_a_restart(void) {
    const struct settings some = {.restarts = 2, .restart_codes = "1,40-49"};
    struct verdict v = {.code = 42, .rank = 3, .text = "exited with 42"};
    CU_ASSERT(again(some, about(&v, 1)));
    CU_ASSERT_FALSE(again(some, about(&v, 3)));
    v.code = 1;
    CU_ASSERT(again(some, about(&v, 1)));
    v.code = 2;
    CU_ASSERT_FALSE(again(some, about(&v, 1)));
    /* A shell reports like this that its program was killed. */
    v.code = 137;
    CU_ASSERT_FALSE(again(some, about(&v, 1)));
    CU_ASSERT(again((struct settings){.restarts = 2, .restart_codes = "137"}, about(&v, 1)));
    v.code = 255;
    CU_ASSERT(again((struct settings){.restarts = 2, .restart_codes = "128-255"}, about(&v, 1)));
    v.code = EXIT_CODE_STOPPED;
    CU_ASSERT_FALSE(
        again((struct settings){.restarts = 2, .restart_codes = "1-255"}, about(&v, 1)));
    v.code = 42;
    v.rank = -1; /* not the exit code of a rank */
    CU_ASSERT_FALSE(again(some, about(&v, 1)));
}

/* Attempts that get no further end the job before all restarts are used up. */
static void without_progress_there_is_an_end(void) {
    const struct settings many = {.restarts = 100};
    struct restart_facts f = about(&crash, 1);
    static const struct {
        uint64_t step;
        bool again;
    } course[] = {{50, true}, {50, true}, {40, true}, {60, true},
                  {0, true},  {60, true}, {60, false}};
    for (unsigned i = 0; i < sizeof(course) / sizeof(course[0]); i++) {
        f.attempt = i + 1;
        f.step = course[i].step;
        CU_ASSERT_EQUAL(again(many, f), course[i].again);
        restart_progress_add(&f.before, f.step);
    }
    ASSERT_CONTAINS(decision.verdict.text,
                    "no restart, as 3 attempts in a row got no further than step 60");
    /* If a program reports no steps, nothing is known about its progress. */
    f = about(&crash, 9);
    restart_progress_add(&f.before, 0);
    CU_ASSERT_EQUAL(f.before.fruitless, 0);
    CU_ASSERT(again(many, f));
}

/* For example, a stop may come while hosts join. */
static void before_the_first_attempt_nothing_is_reported_of_attempts(void) {
    const struct verdict stopped = {.code = EXIT_CODE_STOPPED, .text = "stopped"};
    CU_ASSERT_FALSE(again((struct settings){.restarts = 2}, about(&stopped, 0)));
    CU_ASSERT_STRING_EQUAL(decision.verdict.text, "stopped");
}

static void without_a_host_only_where_that_was_asked_for(void) {
    struct restart_facts f = about(&crash, 1);
    f.hosts_left = 2;
    f.host_lost = true;
    CU_ASSERT_FALSE(again((struct settings){.restarts = 1, .min_hosts = 1}, f));
    ASSERT_CONTAINS(decision.why, "RINGMASTER_SHRINK");
    CU_ASSERT(again((struct settings){.restarts = 1, .min_hosts = 2, .shrink = true}, f));
    CU_ASSERT_FALSE(again((struct settings){.restarts = 1, .min_hosts = 3, .shrink = true}, f));
    ASSERT_CONTAINS(decision.why, "no restart with 2 hosts, RINGMASTER_MIN_HOSTS is 3");
}

/* The stop came too late for the verdict on this attempt, but before the next attempt. */
static void a_stop_after_a_failure_ends_the_job_as_a_stop(void) {
    struct restart_facts f = about(&crash, 1);
    f.stop_host = 1;
    CU_ASSERT_FALSE(again((struct settings){.restarts = 2}, f));
    CU_ASSERT_EQUAL(decision.verdict.code, EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(decision.verdict.text,
                           "algo-2: stopped on request after a failure; attempt 1 of 3");
    CU_ASSERT_STRING_EQUAL(decision.verdict.log_tail, "after signal: a crash");
    CU_ASSERT_FALSE(again((struct settings){.restarts = 0}, f));
    CU_ASSERT_EQUAL(decision.verdict.code, 137); /* no other attempt would have followed */
}

static void the_end_between_attempts_has_the_last_one_as_its_story(void) {
    const struct settings two = {.restarts = 2};
    const struct restart_facts f = about(&crash, 2);
    struct error err = {0};
    struct verdict v;
    (void)error_set(&err, EXIT_CODE_HOST_LOST, "lost");
    restart_end_between(&two, &f, &err, 0, "for a reason", &v);
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(v.text, "algo-1: lost; attempt 2 of 3, for a reason");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "after signal: a crash");
}

static void pauses_double_up_to_five_minutes(void) {
    const struct settings many = {.restarts = 2000};
    static const struct {
        unsigned attempt;
        int64_t seconds;
    } cases[] = {{1, 1}, {4, 8}, {9, 256}, {10, 300}, {1000, 300}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CU_ASSERT(again(many, about(&crash, cases[i].attempt)));
        CU_ASSERT_EQUAL(decision.pause, cases[i].seconds * CLOCK_SECOND);
    }
}

static void the_longest_text_is_cut(void) {
    struct verdict v = chosen;
    memset(v.text, 'x', sizeof(v.text) - 1);
    CU_ASSERT_FALSE(again((struct settings){.restarts = 2}, about(&v, 2)));
    CU_ASSERT_EQUAL(strlen(decision.verdict.text), sizeof(v.text) - 1);
}

/* Of four hosts, three run ranks and one is a spare. */
static void a_spare_makes_up_for_a_lost_host(void) {
    static struct cluster_host four[4];
    static const struct cluster with_spare = {.hosts = four, .count = 4, .spares = 1};
    struct restart_facts f = about(&crash, 1);
    struct settings s = {.restarts = 2, .spares = 1, .min_hosts = 3};
    f.cluster = &with_spare;
    f.host_lost = true;
    f.hosts_left = 3;
    CU_ASSERT(again(s, f));
    f.hosts_left = 2;
    CU_ASSERT_FALSE(again(s, f));
    ASSERT_CONTAINS(decision.why,
                    "no spare is left for a lost host and RINGMASTER_SHRINK is not 1");
    s.shrink = true;
    CU_ASSERT_FALSE(again(s, f));
    ASSERT_CONTAINS(decision.why, "no restart with 2 hosts, RINGMASTER_MIN_HOSTS is 3");
    s.min_hosts = 2;
    CU_ASSERT(again(s, f));
}

static const char gone[] = "kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.";
#define GONE                                                                                       \
    "no restart, as GPU 0000:41:00 of algo-2 cannot be used before this is done: restart the "     \
    "machine (Xid 79, xid-off-the-bus)"

static struct restart_facts on_second(const struct verdict *v, size_t hosts_left) {
    struct restart_facts f = about(v, 1);
    f.hosts_left = hosts_left;
    return f;
}

/* A GPU that is gone is still gone in the next attempt: its host leaves, or the job ends. */
static void a_host_whose_gpu_is_gone_leaves(void) {
    struct settings s = {.restarts = 2, .shrink = true, .min_hosts = 1};
    struct verdict v = crash;
    v.host = 1;
    (void)snprintf(v.evidence, sizeof(v.evidence), "%s", gone);
    CU_ASSERT(again(s, on_second(&v, 2)));
    s.min_hosts = 2;
    CU_ASSERT_FALSE(again(s, on_second(&v, 2)));
    CU_ASSERT_STRING_EQUAL(decision.why,
                           GONE "; no restart with 1 host, RINGMASTER_MIN_HOSTS is 2");
    CU_ASSERT(again(s, on_second(&v, 3)));
    s.shrink = false;
    CU_ASSERT_FALSE(again(s, on_second(&v, 3)));
    CU_ASSERT_STRING_EQUAL(decision.why,
                           GONE "; no restart without a lost host unless RINGMASTER_SHRINK is 1");
    CU_ASSERT_FALSE(again(s, on_second(&v, 1)));
    CU_ASSERT_STRING_EQUAL(decision.why, GONE "; there is no other host");
    /* How the program reacted to it does not matter. */
    v.code = 1;
    v.transient = false;
    s.shrink = true;
    CU_ASSERT(again(s, on_second(&v, 3)));
    struct restart_facts f = on_second(&v, 2);
    f.host_lost = f.between = true; /* the host has left */
    CU_ASSERT(again(s, f));
    f.hosts_left = 1;
    CU_ASSERT_FALSE(again(s, f));
    CU_ASSERT_STRING_EQUAL(decision.why, "no restart with 1 host, RINGMASTER_MIN_HOSTS is 2");
    CU_ASSERT_FALSE(again((struct settings){.shrink = true}, on_second(&v, 3)));
}

static void a_spare_takes_its_place(void) {
    struct cluster_host three[] = {{.name = {"algo-1"}}, {.name = {"algo-2"}}, {.spare = true}};
    const struct cluster with_spare = {.hosts = three, .count = 3, .spares = 1};
    const struct settings s = {.restarts = 2};
    struct verdict v = crash;
    v.host = 1;
    (void)snprintf(v.evidence, sizeof(v.evidence), "%s", gone);
    struct restart_facts f = on_second(&v, 3);
    f.cluster = &with_spare;
    CU_ASSERT(again(s, f));
    f.hosts_left = 2; /* the spare is lost */
    CU_ASSERT_FALSE(again(s, f));
    ASSERT_CONTAINS(decision.why, "(Xid 79, xid-off-the-bus); no restart, as no spare is left");
}

static void the_first_host_leaves_only_where_another_may_lead(void) {
    const struct settings s = {.restarts = 2, .shrink = true, .min_hosts = 1};
    struct verdict v = crash;
    v.host = 0;
    (void)snprintf(v.evidence, sizeof(v.evidence), "%s", gone);
    struct restart_facts f = on_second(&v, 3);
    CU_ASSERT_FALSE(again(s, f));
    ASSERT_CONTAINS(decision.why, "GPU 0000:41:00 of algo-1 cannot be used");
    ASSERT_CONTAINS(decision.why, "the first host can leave only with RINGMASTER_FAILOVER=1");
    f.followed = true;
    CU_ASSERT(again(s, f));
}

static void xids_that_pass_by_change_nothing(void) {
    struct verdict v = crash;
    (void)snprintf(v.evidence, sizeof(v.evidence), "kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=7");
    CU_ASSERT(again((struct settings){.restarts = 2}, on_second(&v, 1)));
    v.transient = false;
    CU_ASSERT_FALSE(again((struct settings){.restarts = 2}, on_second(&v, 1)));
    CU_ASSERT_STRING_EQUAL(decision.why, "no restart after this kind of failure");
}

UNIT_SUITE("outcome.restart", UNIT(restarts_are_counted), UNIT(a_spare_makes_up_for_a_lost_host),
           UNIT(a_host_whose_gpu_is_gone_leaves), UNIT(a_spare_takes_its_place),
           UNIT(the_first_host_leaves_only_where_another_may_lead),
           UNIT(xids_that_pass_by_change_nothing),
           UNIT(exit_codes_that_are_listed_are_worth_a_restart),
           UNIT(without_progress_there_is_an_end),
           UNIT(before_the_first_attempt_nothing_is_reported_of_attempts),
           UNIT(without_a_host_only_where_that_was_asked_for),
           UNIT(a_stop_after_a_failure_ends_the_job_as_a_stop),
           UNIT(the_end_between_attempts_has_the_last_one_as_its_story),
           UNIT(pauses_double_up_to_five_minutes), UNIT(the_longest_text_is_cut))
