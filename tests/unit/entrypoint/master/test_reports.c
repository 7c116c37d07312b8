#include "tests/support/held_clock.h"
#include "tests/unit/entrypoint/stage.h"

#include "common/json/json.h"
#include "entrypoint/master/reports.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/wire/frame.h"

static struct stage_host host;

/* A master with two hosts of two ranks each. */
static struct cluster_host two[2];
static struct job job;
static struct master m;
static struct member members[2];
static unsigned raised[EVENT_COUNT];

static void count(struct master *master, const struct raised *what) {
    CU_ASSERT_PTR_EQUAL(master, &m);
    raised[what->event]++;
}

static void gather(void) {
    held_clock_begin();
    struct error err;
    memset(raised, 0, sizeof(raised));
    two[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 2};
    two[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 2};
    job = (struct job){.cluster = {.hosts = two, .count = 2}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count};
    reports_init(&m);
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
}

static void gathered(void) {
    held_clock_end();
    reports_close(&m);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
}

static void report(unsigned from, unsigned rank, int value) {
    const struct rank_report r = {.rank = rank, .host = from, .value = value, .time = 1};
    json_t *message = rank_report_json(&r);
    reports_report(&members[from], message);
    json_decref(message);
}

static void a_host_speaks_for_its_own_ranks_alone(void) {
    gather();
    report(1, 0, 0);
    report(1, 1, 9);
    report(0, 2, 9);
    CU_ASSERT_EQUAL(m.attempt.report_count, 0);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    json_t *message = json_pack("{s:i, s:i}", "rank", 1, "seconds", 1);
    reports_rank_started(&members[1], message);
    reports_stalled(&members[1], message);
    CU_ASSERT_EQUAL(m.attempt.started_count, 0);
    CU_ASSERT_EQUAL(m.attempt.stalled, 0);
    reports_rank_started(&members[0], message);
    CU_ASSERT_EQUAL(m.attempt.started_count, 1);
    json_decref(message);
    report(1, 2, 0);
    CU_ASSERT_EQUAL(m.attempt.report_count, 1);
    gathered();
}

static void seat(unsigned from, int rank) {
    json_t *message = json_pack("{s:i}", "rank", rank);
    reports_rank_started(&members[from], message);
    json_decref(message);
}

/* A stop that waits for it must not reach programs that have not started. */
static void all_have_started_when_the_last_one_has(void) {
    gather();
    seat(0, 0);
    seat(1, 3);
    seat(1, 2);
    seat(1, 2);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_STARTED], 0);
    seat(0, 1);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_STARTED], 1);
    seat(0, 1);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_STARTED], 1);
    gathered();
}

static void a_failure_outranks_an_earlier_good_end(void) {
    gather();
    report(1, 3, 0);
    report(1, 3, 0);
    CU_ASSERT_EQUAL(m.attempt.report_count, 1);
    report(1, 3, 7);
    CU_ASSERT_EQUAL(m.attempt.report_count, 1);
    CU_ASSERT_EQUAL(m.attempt.reports[0].value, 7);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    report(1, 3, 0);
    report(1, 3, 8);
    CU_ASSERT_EQUAL(m.attempt.reports[0].value, 7);
    gathered();
}

static void what_matters_is_raised(void) {
    gather();
    report(0, 0, 0);
    report(0, 1, 0);
    report(1, 2, 0);
    CU_ASSERT_FALSE(m.attempt.ending);
    report(1, 3, 0);
    CU_ASSERT(m.attempt.ending);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1); /* mpirun would only take its time */
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    gathered();
    gather();
    report(0, 0, 0);
    report(0, 1, 4);
    report(1, 2, 0);
    report(1, 3, 0);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1);
    gathered();
    gather();
    report(0, 0, 0);
    report(0, 1, 0);
    attempt_mpirun_ended(&m.attempt, 0);
    reports_await_last(&m);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 0); /* reports may be under way */
    attempt_lose(&m.attempt, 1, 1, "silence");
    reports_await_lost(&m);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1);
    gathered();
    gather();
    attempt_stop(&m.attempt, 0, 1);
    report(0, 1, 4);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    gathered();
}

/* The deadline as if its time had come, LATE after it. */
static void pass_deadline(int64_t late) {
    CU_ASSERT(m.collect.deadline.active);
    loop_cancel(&m.s.loop, &m.collect.deadline);
    m.collect.deadline.deadline = clock_now() - late;
    m.collect.deadline.fire(&m);
}

static bool waits_on(int64_t late) {
    pass_deadline(late);
    CU_ASSERT_EQUAL(m.collect.deadline.active, raised[EVENT_COLLECT_DEADLINE] == 0);
    return m.collect.deadline.active;
}

/* All ranks have ended with 0, as mpirun says, and the second host has stood still since. */
static void end_without_the_second_host(void) {
    gather();
    job.settings.dead_seconds = 10;
    members[1].last_ack = clock_boot() - 1;
    report(0, 0, 0);
    report(0, 1, 0);
    report(1, 2, 0);
    attempt_mpirun_ended(&m.attempt, 0);
    reports_await_last(&m);
}

static void last_reports_of_a_silent_host_are_waited_for(void) {
    end_without_the_second_host();
    for (int i = 0; i < 100; i++)
        CU_ASSERT(waits_on(0)); /* its lease ends it, which is no business of this timer's */
    report(1, 3, 0);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1);
    gathered();
}

/* What it had to say came before its answer, or never comes. */
static void a_host_that_is_heard_has_a_second_for_its_last_reports(void) {
    end_without_the_second_host();
    CU_ASSERT(waits_on(0));
    members[1].last_ack = clock_boot();
    CU_ASSERT(waits_on(0));
    CU_ASSERT_EQUAL(m.collect.deadline.deadline, clock_now() + CLOCK_SECOND);
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
    end_without_the_second_host();
    members[1].last_ack = clock_boot();
    CU_ASSERT(waits_on(0)); /* once more, for what lies here unread */
    CU_ASSERT_EQUAL(m.collect.deadline.deadline, clock_now() + 50 * CLOCK_MILLISECOND);
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
}

static void a_master_that_stood_still_reads_before_it_judges(void) {
    end_without_the_second_host();
    members[1].last_ack = clock_boot();
    CU_ASSERT(waits_on(2 * CLOCK_SECOND));
    CU_ASSERT_EQUAL(m.collect.deadline.deadline, clock_now() + CLOCK_SECOND);
    CU_ASSERT(waits_on(0));
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
}

static void where_it_is_known_why_nobody_waits_for_a_silent_host(void) {
    end_without_the_second_host();
    attempt_lose(&m.attempt, 1, 1, "silence");
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
    end_without_the_second_host();
    report(0, 1, 9);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    CU_ASSERT(attempt_fail(&m.attempt));
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
    end_without_the_second_host();
    attempt_kill(&m.attempt, 1);
    CU_ASSERT_FALSE(waits_on(0));
    gathered();
}

static void stalled(unsigned from, int rank, const char *states) {
    json_t *message = json_pack("{s:i, s:i, s:s}", "rank", rank, "seconds", 9, "states", states);
    reports_stalled(&members[from], message);
    json_decref(message);
}

/* The first is the failure, the others are evidence. */
static void each_stalled_rank_is_reported(void) {
    gather();
    stalled(1, 2, "pid 7 sh: 1 S do_wait");
    stalled(0, 1, "pid 8 sh: 1 R");
    stalled(0, 3, "another host's");
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    CU_ASSERT_EQUAL(m.attempt.stalled_rank, 2);
    CU_ASSERT_STRING_EQUAL(m.attempt.stalled_states,
                           "threads: pid 7 sh: 1 S do_wait\nalgo-1 rank 1: pid 8 sh: 1 R");
    gathered();
}

static void quiet(unsigned from, int rank, const char *states) {
    json_t *message = json_pack("{s:i, s:s}", "rank", rank, "states", states);
    reports_quiet(&members[from], message, true);
    json_decref(message);
}

/* Whichever rank was heard last, and whatever made all of them rest. */
static void where_all_rest_the_threads_are_those_of_the_rank_that_is_named(void) {
    gather();
    job.settings.idle_seconds = 5;
    quiet(0, 1, "pid 1 sh: 1 S first");
    quiet(1, 2, "pid 2 sh: 1 S second");
    report(0, 0, 0);
    CU_ASSERT_EQUAL(m.attempt.stalled, 0);
    quiet(1, 3, "pid 3 sh: 1 S third");
    CU_ASSERT_NOT_EQUAL(m.attempt.stalled, 0);
    CU_ASSERT_EQUAL(m.attempt.stalled_rank, 1);
    CU_ASSERT_STRING_EQUAL(m.attempt.stalled_states, "threads: pid 1 sh: 1 S first");
    gathered();
    gather();
    job.settings.idle_seconds = 5;
    for (int rank = 1; rank < 4; rank++)
        quiet((unsigned)rank / 2, rank, rank == 1 ? "pid 1 sh: 1 S first" : "");
    report(0, 0, 0);
    CU_ASSERT_STRING_EQUAL(m.attempt.stalled_states, "threads: pid 1 sh: 1 S first");
    gathered();
}

static void where_all_rest_the_rank_that_waits_elsewhere_is_named(void) {
    gather();
    job.settings.idle_seconds = 5;
    quiet(0, 0, "pid 1 sh: 2 S futex_do_wait (202)");
    quiet(0, 1, "pid 2 sh: 1 S futex_do_wait (202)");
    quiet(1, 2, "pid 3 sh: 1 S hrtimer_nanosleep (230), 1 S futex_do_wait (202)");
    CU_ASSERT_EQUAL(m.attempt.stalled, 0);
    quiet(1, 3, "pid 4 sh: 1 S futex_do_wait (202)");
    CU_ASSERT_EQUAL(m.attempt.stalled_rank, 2);
    CU_ASSERT_EQUAL(m.attempt.stalled_host, 1);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    CU_ASSERT_STRING_EQUAL(m.attempt.stalled_states,
                           "it waits elsewhere than all others; its threads: pid 3 sh: 1 S "
                           "hrtimer_nanosleep (230), 1 S futex_do_wait (202)\n"
                           "algo-1 rank 0: pid 1 sh: 2 S futex_do_wait (202)");
    gathered();
}

/* A server may rest for days: nothing ends, and nothing is logged twice. */
static void without_a_limit_the_odd_one_is_named_once(void) {
    gather();
    for (int rank = 0; rank < 4; rank++)
        quiet((unsigned)rank / 2, rank,
              rank == 2 ? "pid 1 sh: 1 S pipe_read" : "pid 1 sh: 1 S futex_do_wait");
    CU_ASSERT_EQUAL(m.attempt.stalled, 0);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    CU_ASSERT(m.attempt.odd_reported);
    attempt_quiet(&m.attempt, 1, 2, NULL);
    CU_ASSERT_FALSE(m.attempt.odd_reported);
    gathered();
}

static void the_earliest_deadline_counts(void) {
    gather();
    reports_gather(&m);
    int64_t late = m.collect.deadline.deadline;
    reports_await_lost(&m);
    int64_t soon = m.collect.deadline.deadline;
    CU_ASSERT(soon < late);
    reports_await_killed(&m);
    reports_gather(&m);
    CU_ASSERT_EQUAL(m.collect.deadline.deadline, soon);
    gathered();
}

static void gather_with_losses(int64_t count) {
    gather();
    for (int rank = 0; rank < 4; rank++)
        seat((unsigned)rank / 2, rank);
    attempt_may_lose(&m.attempt, count);
}

static void a_rank_that_may_be_lost_ends_nothing(void) {
    gather_with_losses(1);
    report(1, 3, 9);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    CU_ASSERT_EQUAL(m.attempt.forgone_count, 1);
    CU_ASSERT_FALSE(m.attempt.failed);
    quiet(0, 0, "pid 1 sh: 1 S futex_do_wait"); /* nobody waits for a word of the lost one */
    quiet(0, 1, "pid 2 sh: 1 S futex_do_wait");
    CU_ASSERT_EQUAL(attempt_all_quiet(&m.attempt), -1);
    quiet(1, 2, "pid 3 sh: 1 S futex_do_wait");
    CU_ASSERT_EQUAL(attempt_all_quiet(&m.attempt), 0);
    report(0, 0, 0);
    report(0, 1, 0);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 0);
    report(1, 2, 0);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    gathered();
}

static void both_ranks_of_a_host_may_be_lost(void) {
    gather_with_losses(2);
    report(1, 2, 9);
    report(1, 3, 9);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 0);
    CU_ASSERT_FALSE(attempt_misses(&m.attempt, 1)); /* no evidence is asked of its host */
    report(0, 0, 0);
    report(0, 1, 0);
    CU_ASSERT_EQUAL(raised[EVENT_ALL_HEARD], 1);
    gathered();
}

static void one_more_than_may_be_lost_is_a_failure(void) {
    gather_with_losses(1);
    report(1, 3, 9);
    report(1, 2, 9);
    CU_ASSERT_EQUAL(raised[EVENT_FAILURE], 1);
    gathered();
    gather_with_losses(1);
    report(1, 3, 9);
    CU_ASSERT(attempt_fail(&m.attempt));
    report(1, 2, 9);
    CU_ASSERT_EQUAL(m.attempt.forgone_count, 1);
    gathered();
}

static int run(const char *script) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                    NULL};
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_start(&host, "host", settings, words);
    return stage_end(&host);
}

static void the_first_failure_is_the_jobs(void) {
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || exec sleep 60; echo the cause; exit 42"), 42);
    ASSERT_CONTAINS(stage_failure(&host), "program: 127.0.0.1 rank 1: exited with 42\n");
    ASSERT_CONTAINS(stage_failure(&host), "the cause");
    CU_ASSERT_EQUAL(run("[ $RANK = 0 ] || exec sleep 60; kill -SEGV $$"), 139);
    ASSERT_CONTAINS(stage_failure(&host), "127.0.0.1 rank 0");
}

/* Killing the shim takes its program along, and its silence is a failure of that rank. */
static void a_rank_that_vanishes_is_a_failure(void) {
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || exec sleep 60; kill -KILL $PPID; sleep 60"), 137);
    ASSERT_CONTAINS(stage_failure(&host), "rank 1");
}

static void ranks_may_end_at_different_times(void) {
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || sleep 2.5"), 0);
}

STAGE_SUITE("master.reports", UNIT(the_first_failure_is_the_jobs),
            UNIT(a_rank_that_vanishes_is_a_failure), UNIT(ranks_may_end_at_different_times),
            UNIT(a_host_speaks_for_its_own_ranks_alone),
            UNIT(all_have_started_when_the_last_one_has),
            UNIT(a_failure_outranks_an_earlier_good_end), UNIT(what_matters_is_raised),
            UNIT(each_stalled_rank_is_reported), UNIT(last_reports_of_a_silent_host_are_waited_for),
            UNIT(a_host_that_is_heard_has_a_second_for_its_last_reports),
            UNIT(a_master_that_stood_still_reads_before_it_judges),
            UNIT(where_it_is_known_why_nobody_waits_for_a_silent_host),
            UNIT(where_all_rest_the_threads_are_those_of_the_rank_that_is_named),
            UNIT(where_all_rest_the_rank_that_waits_elsewhere_is_named),
            UNIT(without_a_limit_the_odd_one_is_named_once),
            UNIT(a_rank_that_may_be_lost_ends_nothing), UNIT(both_ranks_of_a_host_may_be_lost),
            UNIT(one_more_than_may_be_lost_is_a_failure), UNIT(the_earliest_deadline_counts))
