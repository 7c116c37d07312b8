#include "entrypoint/master/dispatch.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/reports.h"
#include "entrypoint/master/stop.h"
#include "entrypoint/master/uploads.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A master of two hosts with a rank each, of which only the clockwork is there. */
static struct cluster_host hosts[2];
static struct job job;
static struct member members[2];
static struct master m;

static void set_up(enum phase phase) {
    held_clock_begin();
    struct error err;
    hosts[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    hosts[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 1};
    job = (struct job){.settings = {.stop_seconds = 40},
                       .cluster = {.hosts = hosts, .count = 2, .job = "job"}};
    m = (struct master){.s = {.job = &job}, .members = members, .phase = phase, .raise = dispatch};
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i, .joined = true};
    m.join.count = 2;
    join_init(&m);
    reports_init(&m);
    stop_init(&m);
    relaunch_init(&m);
    uploads_init(&m);
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, NULL, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
}

static void tear_down(void) {
    held_clock_end();
    uploads_close(&m);
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
}

static void a_stop_hurries_those_who_join(void) {
    set_up(PHASE_JOINING);
    master_raise_about(&members[1], EVENT_STOP, NULL);
    CU_ASSERT_NOT_EQUAL(m.attempt.stop_asked, 0);
    CU_ASSERT_EQUAL(m.attempt.stop_host, 1);
    CU_ASSERT(m.join.deadline.active && !m.stop.budget.active);
    CU_ASSERT_EQUAL(m.join.deadline.deadline, clock_now() + 5 * CLOCK_SECOND);
    int64_t asked = m.attempt.stop_asked;
    master_raise_about(&members[0], EVENT_STOP, NULL);
    CU_ASSERT_EQUAL(m.attempt.stop_asked, asked);
    CU_ASSERT_EQUAL(m.attempt.stop_host, 1);
    CU_ASSERT_EQUAL(m.phase, PHASE_JOINING);
    tear_down();
}

static void a_stop_is_held_until_all_have_started(void) {
    set_up(PHASE_RUNNING);
    CU_ASSERT_FALSE(attempt_rank_started(&m.attempt, 0, 0));
    master_raise_about(&members[0], EVENT_STOP, NULL);
    CU_ASSERT(m.stop.budget.active && m.stop.hold.active);
    CU_ASSERT(m.stop.hold.deadline < m.stop.budget.deadline);
    CU_ASSERT_FALSE(m.attempt.stop_sent);
    CU_ASSERT(attempt_rank_started(&m.attempt, 1, 1));
    master_raise(&m, EVENT_ALL_STARTED);
    CU_ASSERT(m.attempt.stop_sent && !m.stop.hold.active);
    master_raise_about(&members[0], EVENT_STOP_AGAIN, NULL);
    CU_ASSERT_EQUAL(m.stop.budget.deadline, clock_now());
    master_raise(&m, EVENT_BUDGET_SPENT);
    CU_ASSERT(m.attempt.killed != 0 && m.attempt.ending);
    tear_down();
}

static void a_stop_that_waited_too_long_ends_the_launch(void) {
    set_up(PHASE_RUNNING);
    master_raise_about(&members[0], EVENT_STOP, NULL);
    master_raise(&m, EVENT_HOLD_SPENT);
    CU_ASSERT(m.attempt.killed != 0);
    CU_ASSERT(m.collect.deadline.active);
    tear_down();
}

static void a_host_is_lost_once(void) {
    set_up(PHASE_RUNNING);
    master_raise_about(&members[1], EVENT_HOST_GONE, "silence");
    CU_ASSERT(members[1].lost && m.attempt.ending);
    CU_ASSERT_EQUAL_FATAL(m.attempt.loss_count, 1);
    CU_ASSERT_STRING_EQUAL(m.attempt.losses[0].why, "silence");
    int64_t deadline = m.collect.deadline.deadline;
    CU_ASSERT_EQUAL(deadline, clock_now() + CLOCK_SECOND / 2);
    master_raise_about(&members[1], EVENT_HOST_GONE, "its link closed");
    CU_ASSERT_EQUAL(m.attempt.loss_count, 1);
    CU_ASSERT_EQUAL(m.collect.deadline.deadline, deadline);
    tear_down();
}

static void who_goes_while_hosts_join_may_come_back(void) {
    set_up(PHASE_JOINING);
    master_raise_about(&members[1], EVENT_HOST_GONE, "its link closed");
    CU_ASSERT_FALSE(members[1].joined || members[1].lost);
    CU_ASSERT_EQUAL(m.join.count, 1);
    tear_down();
}

/* The second host has a link; its end. */
static int link_second(void) {
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                          0);
    members[1].link = link_new(&m.s.loop, pair[0], NULL, true, &quiet_link, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(members[1].link);
    return pair[1];
}

/* What came there before the link ended. */
static const char *heard_at(int end) {
    static char bytes[512];
    enum { LENGTH = 4 };
    memset(bytes, 0, sizeof(bytes));
    CU_ASSERT_PTR_NULL(members[1].link);
    ssize_t got = recv(end, bytes, sizeof(bytes) - 1, 0);
    CU_ASSERT(got >= 0); /* it has ended */
    (void)close(end);
    return got > LENGTH ? bytes + LENGTH : "";
}

static void who_has_a_twin_leaves_without_a_word(void) {
    static const enum phase phases[] = {PHASE_JOINING, PHASE_EXAMINING};
    for (size_t i = 0; i < 2; i++) {
        set_up(phases[i]);
        int end = link_second();
        m.s.judged = true; /* nothing runs here that would have to be ended */
        (void)error_set(&m.fault, EXIT_CODE_CONFIG, "another one");
        m.fault_host = 0;
        master_raise(&m, EVENT_DUPLICATE_NAME);
        CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
        CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_CONFIG);
        CU_ASSERT_STRING_EQUAL(heard_at(end), "");
        tear_down();
    }
}

/* The second host leads the job: this one gives way when it has all that it needs. */
static void who_gives_way_sends_the_others_on_at_once(void) {
    struct role_state role_state = {.on = true};
    for (int begun = 0; begun < 2; begun++) {
        set_up(PHASE_JOINING);
        m.s.role_state = &role_state;
        m.s.judged = true;
        m.join.begun = begun;
        m.leader_query.leader = 1;
        int end = link_second();
        master_raise(&m, EVENT_LED_ELSEWHERE);
        CU_ASSERT_EQUAL(m.phase, begun ? PHASE_JUDGED : PHASE_JOINING);
        CU_ASSERT_EQUAL(role_state.back, begun);
        ASSERT_CONTAINS(heard_at(end), "algo-2 leads the job");
        tear_down();
    }
}

/* It was the last to hear the old master. */
static void who_comes_to_those_that_gather_is_asked_what_it_knows(void) {
    struct role_state role_state;
    struct error err;
    set_up(PHASE_GATHERING);
    job.settings.failover = job.settings.shrink = true;
    job.settings.restarts = 3;
    job.settings.dead_seconds = 10;
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, &err), 0);
    m.s.role_state = &role_state;
    role_state.heard = clock_boot() - CLOCK_SECOND;
    cleanup_json json_t *join = frame_new("join");
    (void)json_object_set_new(join, "succession", role_state_json(&role_state));
    m.takeover.heard = 1;
    master_raise_word(&members[1], EVENT_PEER_ARRIVED, join);
    CU_ASSERT(m.takeover.heard > role_state.heard - CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.takeover.heard, clock_boot() - CLOCK_SECOND);
    loop_cancel(&m.s.loop, &m.takeover.look);
    role_state_close(&role_state);
    tear_down();
}

static void a_failure_is_gathered_and_a_late_stop_noted(void) {
    set_up(PHASE_RUNNING);
    master_raise(&m, EVENT_FAILURE);
    CU_ASSERT(m.attempt.gathering && m.attempt.ending && m.collect.end.active);
    master_raise_about(&members[1], EVENT_STOP, NULL);
    CU_ASSERT(m.attempt.stop_late != 0 && m.attempt.stop_asked == 0 && !m.stop.budget.active);
    tear_down();
}

/* The attempt that failed, with its timers, is gone, and all hosts are told to clear up. */
static void what_may_be_tried_again_is_forgotten_first(void) {
    set_up(PHASE_RUNNING);
    job.settings.restarts = 1;
    const struct rank_report crash = {.rank = 1, .host = 1, .end = RANK_SIGNALLED, .value = 11};
    const struct rank_report good = {.rank = 0, .host = 0, .end = RANK_EXITED};
    CU_ASSERT(attempt_report(&m.attempt, &crash) && attempt_report(&m.attempt, &good));
    master_raise(&m, EVENT_FAILURE);
    master_raise(&m, EVENT_ALL_HEARD);
    CU_ASSERT_EQUAL(m.phase, PHASE_CLEARING);
    CU_ASSERT_EQUAL(m.attempt.number, 2);
    CU_ASSERT_EQUAL(m.failed.code, 128 + 11);
    CU_ASSERT(!m.collect.deadline.active && !m.collect.end.active);
    CU_ASSERT(m.relaunch.pause.active && m.relaunch.deadline.active);
    CU_ASSERT(m.s.host.quiet);
    tear_down();
}

static void fail_with(int restarts) {
    job.settings.restarts = restarts;
    job.settings.output = "s3://bucket/folder";
    job.settings.upload_seconds = 3600;
    const struct rank_report crash = {.rank = 1, .host = 1, .end = RANK_SIGNALLED, .value = 11};
    const struct rank_report good = {.rank = 0, .host = 0, .end = RANK_EXITED};
    CU_ASSERT(attempt_report(&m.attempt, &crash) && attempt_report(&m.attempt, &good));
    master_raise(&m, EVENT_FAILURE);
}

/* Until nobody waits for uploads any more: a stop's 40 s, and 10 s for words to come. */
static int64_t uploads_end_in(void) {
    CU_ASSERT_EQUAL(m.phase, PHASE_UPLOADING);
    CU_ASSERT_TRUE(m.uploads.deadline.active);
    return m.uploads.deadline.deadline - clock_now();
}

static void a_stop_between_two_attempts_leaves_its_time_for_uploads(void) {
    static const enum phase_event stops[] = {EVENT_STOP, EVENT_STOP_AGAIN};
    for (size_t i = 0; i < 2; i++) {
        set_up(PHASE_RUNNING);
        fail_with(9);
        master_raise(&m, EVENT_ALL_HEARD);
        CU_ASSERT_EQUAL(m.phase, PHASE_CLEARING);
        master_raise_about(&members[1], stops[i], NULL);
        CU_ASSERT_EQUAL(uploads_end_in(), 50 * CLOCK_SECOND);
        CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_STOPPED);
        ASSERT_CONTAINS(m.verdict.text, "algo-2: stopped on request between two attempts");
        tear_down();
    }
}

/* One after a failure, while its reports are gathered. */
static void a_late_stop_leaves_its_time_for_uploads(void) {
    for (int stopped = 0; stopped < 2; stopped++) {
        set_up(PHASE_RUNNING);
        fail_with(9 * stopped);
        if (stopped) {
            master_raise_about(&members[1], EVENT_STOP, NULL);
            m.attempt.stop_late -= 15 * CLOCK_SECOND;
            master_raise_about(&members[0], EVENT_STOP_AGAIN, NULL); /* the first one counts */
        }
        master_raise(&m, EVENT_ALL_HEARD);
        CU_ASSERT_EQUAL(m.verdict.code, stopped ? EXIT_CODE_STOPPED : 128 + 11);
        CU_ASSERT_EQUAL(uploads_end_in(), (stopped ? 35 : 3610) * CLOCK_SECOND);
        tear_down();
    }
}

/* Whatever happens first after a pause: a success of ranks that have ended meanwhile, say. */
static void who_is_out_does_nothing_else(void) {
    static const enum phase_event events[] = {EVENT_ALL_HEARD, EVENT_CLEANUP_DONE, EVENT_ENDED,
                                              EVENT_MPIRUN_ENDED, EVENT_STOP};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        static struct cluster_host three[3];
        struct role_state role_state;
        struct error err;
        set_up(PHASE_RUNNING);
        job.settings.failover = true;
        const struct cluster two = job.cluster;
        job.cluster.hosts = three;
        job.cluster.count = 3;
        CU_ASSERT_EQUAL(role_state_open(&role_state, &job, &err), 0);
        job.cluster = two;
        m.s.role_state = &role_state;
        m.s.judged = true; /* so that nothing is ended here */
        CU_ASSERT(lease_is_out(&m));
        master_raise_about(&members[0], events[i], NULL);
        CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
        CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_HOST_LOST);
        ASSERT_CONTAINS(m.verdict.text, "1 of the 3 hosts of attempt 1 are here");
        CU_ASSERT(m.s.at_once);
        CU_ASSERT_EQUAL(m.attempt.stop_asked, 0);
        role_state_close(&role_state);
        tear_down();
    }
}

static void end_well(int64_t answered) {
    set_up(PHASE_RUNNING);
    job.settings.dead_seconds = 10;
    m.s.judged = true; /* so that nothing is ended here */
    members[1].last_ack = clock_boot() - answered;
    for (unsigned i = 0; i < 2; i++) {
        const struct rank_report good = {.rank = i, .host = i, .end = RANK_EXITED};
        CU_ASSERT(attempt_report(&m.attempt, &good));
    }
    attempt_begin_end(&m.attempt);
    master_raise(&m, EVENT_ALL_HEARD);
}

/* Good reports are unread here, from a host that may have given this one up meanwhile. */
static void after_a_pause_a_good_end_waits_for_a_sign_of_life(void) {
    end_well(CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_OK);
    tear_down();
    end_well(12 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.phase, PHASE_RUNNING);
    master_raise(&m, EVENT_COLLECT_DEADLINE);
    CU_ASSERT_EQUAL(m.phase, PHASE_RUNNING);
    members[1].last_ack = clock_boot();
    master_raise(&m, EVENT_ALL_ANSWERED);
    CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_OK);
    tear_down();
    end_well(12 * CLOCK_SECOND);
    master_raise_about(&members[1], EVENT_HOST_GONE, "its link closed");
    CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
    CU_ASSERT_EQUAL(m.verdict.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_EQUAL(m.lease.asked, 0); /* a late answer judges no other attempt */
    tear_down();
}

static void what_comes_after_the_end_changes_nothing(void) {
    set_up(PHASE_JUDGED);
    static const enum phase_event late[] = {EVENT_FAILURE,    EVENT_ALL_HEARD,    EVENT_STOP_AGAIN,
                                            EVENT_ALL_JOINED, EVENT_CLEANUP_DONE, EVENT_ENDED};
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
        master_raise_about(&members[0], late[i], NULL);
    CU_ASSERT_EQUAL(m.phase, PHASE_JUDGED);
    CU_ASSERT(m.attempt.stop_asked == 0 && !m.attempt.ending && !m.collect.deadline.active);
    tear_down();
}

UNIT_SUITE("master.dispatch", UNIT(a_stop_hurries_those_who_join),
           UNIT(a_stop_is_held_until_all_have_started),
           UNIT(a_stop_that_waited_too_long_ends_the_launch), UNIT(a_host_is_lost_once),
           UNIT(who_goes_while_hosts_join_may_come_back),
           UNIT(who_has_a_twin_leaves_without_a_word),
           UNIT(who_gives_way_sends_the_others_on_at_once),
           UNIT(who_comes_to_those_that_gather_is_asked_what_it_knows),
           UNIT(a_failure_is_gathered_and_a_late_stop_noted),
           UNIT(a_stop_between_two_attempts_leaves_its_time_for_uploads),
           UNIT(a_late_stop_leaves_its_time_for_uploads),
           UNIT(what_may_be_tried_again_is_forgotten_first), UNIT(who_is_out_does_nothing_else),
           UNIT(after_a_pause_a_good_end_waits_for_a_sign_of_life),
           UNIT(what_comes_after_the_end_changes_nothing))
