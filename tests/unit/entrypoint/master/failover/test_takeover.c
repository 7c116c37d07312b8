#include "entrypoint/master/failover/takeover.h"

#include "common/clock.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOSTS = 5 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct role_state role_state;
static struct member members[HOSTS];
static struct master m;
static int far_end = -1; /* of the link of one that waits */
static enum phase_event raised;
static int raises;

static void raise_event(struct master *master, const struct raised *what) {
    (void)master;
    raised = what->event;
    raises++;
}

static int64_t dead = 10; /* seconds */

/* The second host of five, or of COUNT, follows the first one, which it heard AGO. */
static void set_up(size_t count, int64_t ago) {
    held_clock_begin();
    struct error err;
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
    }
    job = (struct job){.settings = {.failover = true,
                                    .shrink = true,
                                    .restarts = 3,
                                    .min_hosts = 1,
                                    .dead_seconds = dead},
                       .cluster = {.hosts = hosts, .count = count, .self = 1, .job = "job"}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, &err), 0);
    role_state.begun = true;
    role_state.heard = clock_boot() - ago;
    (void)snprintf(role_state.run, sizeof(role_state.run), "0123456789abcdef");
    role_state_follow(&role_state, &job);
    m = (struct master){
        .s = {.job = &job, .role_state = &role_state}, .members = members, .raise = raise_event};
    for (size_t i = 0; i < count; i++)
        members[i] = (struct member){.master = &m, .index = i};
    raises = 0;
    takeover_init(&m);
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    takeover_open(&m);
    CU_ASSERT_EQUAL(m.phase, PHASE_GATHERING);
}

static void tear_down(void) {
    held_clock_end();
    takeover_close(&m);
    for (size_t i = 0; i < HOSTS; i++) {
        link_free(members[i].link);
        json_decref(members[i].pending_join);
        members[i] = (struct member){0};
    }
    if (far_end >= 0)
        (void)close(far_end);
    far_end = -1;
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
    role_state_close(&role_state);
}

static json_t *join_of(int64_t ago) {
    json_t *message = frame_new("join");
    role_state.heard = clock_boot() - ago;
    (void)json_object_set_new(message, "succession", role_state_json(&role_state));
    if (role_state.saw_exit.seen)
        (void)json_object_set_new(message, "master_exit", role_state_exit_json(&role_state));
    return message;
}

static void come(size_t host, int64_t ago) {
    json_t *message = join_of(ago);
    struct error err;
    CU_ASSERT_EQUAL(takeover_check(&m, host, message, &err), 0);
    members[host].joined = true;
    m.join.count++;
    takeover_admit(&members[host], message);
    json_decref(message);
}

static const int64_t long_ago = 100 * CLOCK_SECOND;

/* Nothing can run elsewhere but at the old master, which has had its time. */
static void with_all_others_it_begins_a_lease_after_the_last_heartbeat(void) {
    set_up(3, long_ago);
    takeover_begin(&m);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT(members[1].lost && !members[2].lost);
    come(2, 13 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT(m.takeover.look.active);
    CU_ASSERT_EQUAL(m.takeover.look.deadline, clock_now() + CLOCK_SECOND);
    tear_down();
    set_up(3, long_ago);
    takeover_begin(&m);
    come(2, 14 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(raises, 1);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    tear_down();
}

/* Host 1 at place 0 was the master; what SELF and OTHER have seen end is at those places, AGO. */
static void see(int self, int other, int64_t ago) {
    set_up(3, 0);
    role_state.saw_exit = (struct seen_exit){
        .seen = self >= 0, .place = (size_t)self, .at = clock_boot() - CLOCK_SECOND};
    takeover_begin(&m);
    role_state.saw_exit =
        (struct seen_exit){.seen = other >= 0, .place = (size_t)other, .at = clock_boot() - ago};
    come(2, 0);
}

static void a_second_after_all_have_seen_the_master_end_it_begins(void) {
    see(0, 0, CLOCK_SECOND);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    CU_ASSERT_EQUAL(raises, 1);
    tear_down();
    see(0, 0, 400 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT_EQUAL(m.takeover.look.deadline, clock_now() + 600 * CLOCK_MILLISECOND);
    tear_down();
}

static void what_not_all_have_seen_proves_nothing(void) {
    const int seen[][2] = {{0, -1}, {-1, 0}, {-1, -1}, {0, 2}, {1, 0}};
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        see(seen[i][0], seen[i][1], CLOCK_SECOND);
        CU_ASSERT_EQUAL(raises, 0);
        CU_ASSERT_EQUAL(m.takeover.look.deadline, clock_now() + 14 * CLOCK_SECOND);
        tear_down();
    }
}

static void what_only_those_who_came_have_seen_does_not_count(void) {
    set_up(5, 0);
    role_state.saw_exit = (struct seen_exit){.seen = true, .at = clock_boot() - CLOCK_SECOND};
    takeover_begin(&m);
    come(2, 0);
    come(3, 0);
    CU_ASSERT_EQUAL(raises, 0);
    come(4, 0);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    tear_down();
}

static void an_end_that_makes_no_sense_is_none(void) {
    const char *const bad[] = {"{}",
                               "{\"master_exit\": 3}",
                               "{\"master_exit\": [0]}",
                               "{\"master_exit\": [-1, 5]}",
                               "{\"master_exit\": [999999, 5]}",
                               "{\"master_exit\": [0, -5]}",
                               "{\"master_exit\": [0, \"5\"]}",
                               "{\"master_exit\": [0, 9223372036854775807]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct seen_exit seen = {.seen = true};
        json_t *join = json_loads(bad[i], 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(join);
        role_state_parse_exit(join, &seen);
        CU_ASSERT_FALSE(seen.seen);
        json_decref(join);
    }
}

/* 5 s of silence and 4 s to end, or 60 and 4. */
static void a_lease_is_what_was_asked_for(void) {
    for (dead = 5; dead <= 60; dead += 55) {
        set_up(3, long_ago);
        takeover_begin(&m);
        come(2, (dead + 4) * CLOCK_SECOND - 1);
        CU_ASSERT_EQUAL(raises, 0);
        CU_ASSERT_EQUAL(m.takeover.look.deadline, clock_now() + 1);
        tear_down();
        set_up(3, long_ago);
        takeover_begin(&m);
        come(2, (dead + 4) * CLOCK_SECOND);
        CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
        tear_down();
    }
    dead = 10;
}

/* The heartbeat that any of them has heard last counts, also this host's own. */
static void its_own_last_heartbeat_counts(void) {
    set_up(3, 2 * CLOCK_SECOND);
    takeover_begin(&m);
    come(2, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT_EQUAL(m.takeover.look.deadline, clock_now() + 12 * CLOCK_SECOND);
    tear_down();
}

/* One of those that are missing may still hear the old master. */
static void without_some_it_waits_a_lease_longer_and_for_them_to_come(void) {
    set_up(5, long_ago);
    takeover_begin(&m);
    come(3, long_ago);
    come(4, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
    m.takeover.opened -= 12 * CLOCK_SECOND;
    come(2, 20 * CLOCK_SECOND); /* now all are here */
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    tear_down();
    set_up(5, long_ago);
    m.takeover.opened -= 12 * CLOCK_SECOND;
    takeover_begin(&m);
    come(3, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
    come(4, 24 * CLOCK_SECOND - 1);
    CU_ASSERT_EQUAL(raises, 0);
    tear_down();
    set_up(5, long_ago);
    m.takeover.opened -= 12 * CLOCK_SECOND;
    takeover_begin(&m);
    come(3, long_ago);
    come(4, 24 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    takeover_end(&m);
    CU_ASSERT_EQUAL(m.attempt.number, 2);
    CU_ASSERT_EQUAL(m.first, 2);
    CU_ASSERT(members[1].lost && members[2].lost);
    CU_ASSERT_FALSE(members[0].lost || members[3].lost || members[4].lost);
    tear_down();
}

static void too_few_are_out(void) {
    set_up(5, long_ago);
    takeover_begin(&m);
    come(2, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
    held_clock_pass(45 * CLOCK_SECOND - 1);
    m.takeover.look.fire(&m);
    CU_ASSERT_EQUAL(raises, 0);
    held_clock_pass(1);
    m.takeover.look.fire(&m);
    CU_ASSERT_EQUAL(raises, 1);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_LOST);
    tear_down();
}

static void so_are_fewer_than_were_asked_for(void) {
    set_up(3, long_ago);
    job.settings.min_hosts = 3;
    takeover_begin(&m);
    come(2, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
    tear_down();
}

static void say_nothing(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void end(void *context, const struct error *why) {
    (void)context;
    (void)why;
}

static const struct link_events quiet = {.message = say_nothing, .closed = end};

/* HOST was started anew, or knows of the views in KNOWN; it waits, and can have a part. */
static void stay(size_t host, const struct quorum *known) {
    int pair[2];
    json_t *message = known != NULL ? NULL : frame_new("join");
    if (known != NULL) {
        const struct quorum before = role_state.quorum;
        role_state.quorum = *known;
        message = join_of(long_ago);
        role_state.quorum = before;
    }
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                          0);
    far_end = pair[1];
    members[host].link = link_new(&m.s.loop, pair[0], NULL, true, &quiet, &members[host], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(members[host].link);
    members[host].is_standby = true;
    members[host].pending_join = message;
    m.takeover.look.fire(&m);
}

/* Three of five follow, and four are asked for. */
static void three_of_four(void) {
    set_up(5, long_ago);
    job.settings.min_hosts = 4;
    m.takeover.opened -= 12 * CLOCK_SECOND;
    takeover_begin(&m);
    come(3, long_ago);
    come(4, long_ago);
    CU_ASSERT_EQUAL(raises, 0);
}

/* Just those that the next attempt will have. */
static void those_that_wait_count(void) {
    three_of_four();
    stay(2, NULL);
    CU_ASSERT_EQUAL(raises, 1);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    m.phase = PHASE_RUNNING;
    takeover_end(&m);
    CU_ASSERT(members[2].lost);
    rejoin_take(&m);
    CU_ASSERT_FALSE(members[2].lost);
    CU_ASSERT_EQUAL(master_hosts_left(&m), 4);
    tear_down();
}

/* It has taken what another host has offered as the next attempt, and cannot take ours. */
static void a_host_that_cannot_take_the_next_view_does_not_count(void) {
    const struct view theirs = {.number = 2, .master = 2, .hosts = {.words = {0x1c}}};
    three_of_four();
    struct quorum known = role_state.quorum;
    CU_ASSERT(quorum_take(&known, &theirs));
    stay(2, &known);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT_EQUAL(quorum_last(&role_state.quorum)->number, 1);
    m.phase = PHASE_RUNNING;
    takeover_end(&m);
    rejoin_take(&m);
    CU_ASSERT(members[2].lost);
    tear_down();
}

/* Two of five may not go on, however many wait: a host that was started anew has forgotten what it
 * took. */
static void those_that_wait_give_no_right(void) {
    set_up(5, long_ago);
    m.takeover.opened -= 12 * CLOCK_SECOND;
    takeover_begin(&m);
    come(3, long_ago);
    stay(2, NULL);
    CU_ASSERT_EQUAL(raises, 0);
    come(4, long_ago);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    tear_down();
}

/* It has taken a later view, without the host that is here. */
static void what_one_of_them_knows_counts_for_all(void) {
    const struct view later = {.number = 2, .master = 0, .hosts = {.words = {0x0d}}};
    set_up(5, long_ago);
    m.takeover.opened -= 12 * CLOCK_SECOND;
    takeover_begin(&m);
    const struct quorum before = role_state.quorum;
    CU_ASSERT(quorum_take(&role_state.quorum, &later));
    json_t *message = join_of(long_ago);
    role_state.quorum = before;
    members[4].joined = members[3].joined = true;
    m.join.count = 3;
    takeover_admit(&members[3], message);
    CU_ASSERT_EQUAL(raises, 0);
    CU_ASSERT_EQUAL(quorum_last(&role_state.quorum)->number, 2);
    /* The third host is in both views; with it, more than half of each have joined. */
    members[2].joined = true;
    m.join.count = 4;
    takeover_admit(&members[2], message);
    CU_ASSERT_EQUAL(raised, EVENT_QUORUM_REACHED);
    takeover_end(&m);
    CU_ASSERT_EQUAL(m.attempt.number, 3);
    json_decref(message);
    tear_down();
}

static void attempts_are_held_against_those_under_the_lost_master(void) {
    set_up(3, long_ago);
    CU_ASSERT_EQUAL(m.relaunch.progress.best_step, 0);
    role_state.progress = (struct restart_progress){.best_step = 50, .fruitless = 2};
    takeover_open(&m);
    CU_ASSERT_EQUAL(m.relaunch.progress.best_step, 50);
    CU_ASSERT_EQUAL(m.relaunch.progress.fruitless, 2);
    tear_down();
}

static void who_may_not_come_hears_why(void) {
    struct error err;
    set_up(5, long_ago);
    takeover_begin(&m);
    json_t *message = join_of(long_ago);
    CU_ASSERT_EQUAL(takeover_check(&m, 2, message, &err), 0);
    CU_ASSERT_NOT_EQUAL(takeover_check(&m, 1, message, &err), 0);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    (void)json_object_set_new(message, "fault_code", json_integer(65));
    (void)json_object_set_new(message, "fault_text", json_string("no mpirun"));
    CU_ASSERT_NOT_EQUAL(takeover_check(&m, 2, message, &err), 0);
    ASSERT_CONTAINS(err.text, "no mpirun");
    json_decref(message);
    message = join_of(long_ago);
    (void)json_object_set_new(json_object_get(message, "succession"), "run",
                              json_string("fedcba9876543210"));
    CU_ASSERT_NOT_EQUAL(takeover_check(&m, 2, message, &err), 0);
    ASSERT_CONTAINS(err.text, "another run");
    json_decref(message);
    tear_down();
}

UNIT_SUITE("master.takeover", UNIT(with_all_others_it_begins_a_lease_after_the_last_heartbeat),
           UNIT(a_lease_is_what_was_asked_for), UNIT(its_own_last_heartbeat_counts),
           UNIT(without_some_it_waits_a_lease_longer_and_for_them_to_come), UNIT(too_few_are_out),
           UNIT(so_are_fewer_than_were_asked_for), UNIT(those_that_wait_count),
           UNIT(a_host_that_cannot_take_the_next_view_does_not_count),
           UNIT(those_that_wait_give_no_right), UNIT(what_one_of_them_knows_counts_for_all),
           UNIT(who_may_not_come_hears_why),
           UNIT(attempts_are_held_against_those_under_the_lost_master),
           UNIT(a_second_after_all_have_seen_the_master_end_it_begins),
           UNIT(what_not_all_have_seen_proves_nothing),
           UNIT(what_only_those_who_came_have_seen_does_not_count),
           UNIT(an_end_that_makes_no_sense_is_none))
