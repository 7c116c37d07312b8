#include "entrypoint/master/launch.h"
#include "tests/support/unit.h"

/* A master of two hosts with a rank each, and how often a failure was raised. */
static struct cluster_host two[2];
static struct job job;
static struct master m;
static struct member members[2];
static unsigned failures;

static void count_failures(struct master *master, const struct raised *what) {
    (void)master;
    failures += what->event == EVENT_FAILURE;
}

static void set_up(void) {
    struct error err;
    failures = 0;
    two[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    two[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 1};
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i};
    job = (struct job){.cluster = {.hosts = two, .count = 2}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count_failures};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
}

static void take_down(void) {
    launch_close(&m);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
}

/* It may not have been able to start a daemon, and would wait for it without end. */
static void a_launch_that_takes_too_long_is_given_up_with_words(void) {
    set_up();
    launch_give_up(&m);
    CU_ASSERT_EQUAL(failures, 1);
    CU_ASSERT(m.launch.given_up);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-1: mpirun had started 0 of 2 ranks 60 s after");
    launch_give_up(&m); /* once */
    CU_ASSERT_EQUAL(failures, 1);
    take_down();
}

static void a_launch_that_is_done_or_has_failed_is_not_given_up(void) {
    set_up();
    m.attempt.started_count = 2;
    launch_give_up(&m);
    m.attempt.started_count = 1;
    m.attempt.mpirun_ended = true;
    launch_give_up(&m);
    m.attempt.mpirun_ended = false;
    m.phase = PHASE_CLEARING;
    launch_give_up(&m);
    m.phase = PHASE_RUNNING;
    m.attempt.tool.time = 1; /* another cause is known */
    launch_give_up(&m);
    CU_ASSERT_FALSE(m.launch.given_up);
    CU_ASSERT_EQUAL(failures, 0);
    take_down();
}

static void the_words_about_it_name_no_mpirun_that_was_not_started(void) {
    set_up();
    m.attempt.direct = true;
    m.attempt.started_count = 1;
    launch_give_up(&m);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-1: the hosts had started 1 of 2 ranks 60 s after");
    CU_ASSERT_PTR_NULL(strstr(m.attempt.tool_note, "mpirun"));
    take_down();
}

UNIT_SUITE("master.launch", UNIT(a_launch_that_takes_too_long_is_given_up_with_words),
           UNIT(a_launch_that_is_done_or_has_failed_is_not_given_up),
           UNIT(the_words_about_it_name_no_mpirun_that_was_not_started))
