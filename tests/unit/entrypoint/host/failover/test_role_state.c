#include "entrypoint/host/failover/role_state.h"

#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS = 5 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct role_state s;

/* Host SELF of five, in the middle of attempt 1. */
static void set_up(size_t self) {
    struct error err;
    json_t *order = json_pack("{s:o}", "addresses", json_array());
    for (size_t i = 0; i < HOSTS; i++) {
        char address[32];
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        (void)snprintf(address, sizeof(address), "10.0.0.%zu", i + 1);
        CU_ASSERT(net_address_parse(address, &hosts[i].address));
    }
    job = (struct job){.settings = {.failover = true, .shrink = true, .restarts = 3},
                       .cluster = {.hosts = hosts, .count = HOSTS, .self = self}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&s, &job, &err), 0);
    (void)json_object_set_new(order, "addresses", role_state_addresses(&job.cluster));
    CU_ASSERT(role_state_commit_view(&s, 1, order));
    json_decref(order);
}

static void assert_order(const char *expected) {
    char text[64] = "";
    for (size_t i = 0; i < HOSTS; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                       hosts[i].name.text + 5, hosts[i].gone ? "-" : " ");
    CU_ASSERT_STRING_EQUAL(text, expected);
}

/* An end or a reset of its link says that the master is gone: a kernel resets a connection if bytes
 * lay unread there. Silence says nothing. */
static void silence_is_no_end_of_a_master(void) {
    static const int ends[] = {0, ECONNRESET, EPIPE};
    static const int silences[] = {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH};
    set_up(1);
    for (size_t i = 0; i < 3; i++) {
        role_state_note_end(&s, ends[i]);
        CU_ASSERT(s.closed);
        role_state_note_end(&s, silences[i]);
        CU_ASSERT_FALSE(s.closed);
    }
    role_state_note_end(NULL, 0);
    role_state_close(&s);
}

static void each_life_has_its_time_to_reach_a_master(void) {
    set_up(1);
    job.settings.dead_seconds = 20;
    job.settings.ready_seconds = 600;
    CU_ASSERT_EQUAL(role_state_reach_seconds(NULL, &job.settings), 600);
    CU_ASSERT_EQUAL(role_state_reach_seconds(&s, &job.settings), 600);
    s.again = true;
    CU_ASSERT_EQUAL(role_state_reach_seconds(&s, &job.settings), 30);
    s.back = true;
    CU_ASSERT_EQUAL(role_state_reach_seconds(&s, &job.settings), 80);
    role_state_close(&s);
}

static void off_it_changes_nothing(void) {
    struct error err;
    const char *why = "";
    set_up(1);
    role_state_close(&s);
    job.settings.failover = false;
    CU_ASSERT_EQUAL(role_state_open(&s, &job, &err), 0);
    CU_ASSERT_FALSE(role_state_is_on(&s) || role_state_is_on(NULL) || role_state_is_again(NULL));
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    CU_ASSERT_STRING_EQUAL(why, "");
    role_state_close(&s);
}

/* All hosts that follow the same master give an index the same meaning. */
static void the_next_host_becomes_the_first(void) {
    for (size_t self = 1; self < HOSTS; self++) {
        const char *why = "";
        char address[NET_ADDRESS_TEXT];
        set_up(self);
        CU_ASSERT(role_state_may_follow(&s, &job, &why));
        role_state_follow(&s, &job);
        assert_order("2 1-3 4 5 ");
        CU_ASSERT_EQUAL(hosts[job.cluster.self].place, self);
        CU_ASSERT_EQUAL(cluster_is_master(&job.cluster), self == 1);
        net_address_text(&hosts[0].address, address);
        CU_ASSERT_STRING_EQUAL(address, "10.0.0.2");
        /* That host does not come either. */
        CU_ASSERT_EQUAL(role_state_may_follow(&s, &job, &why), self > 1);
        if (self > 1) {
            role_state_follow(&s, &job);
            assert_order("3 1-2-4 5 ");
            CU_ASSERT_EQUAL(hosts[job.cluster.self].place, self);
            CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
            ASSERT_CONTAINS(why, "at most half");
        }
        role_state_close(&s);
    }
}

static void after_an_attempt_under_a_new_master_the_one_behind_it_follows(void) {
    const char *why = "";
    json_t *order = json_object();
    set_up(3);
    role_state_follow(&s, &job);
    cluster_drop(&job.cluster, 2); /* algo-3 has not come */
    CU_ASSERT(role_state_take(&s, &job.cluster, 2));
    CU_ASSERT_FALSE(role_state_take(&s, &job.cluster, 2));
    CU_ASSERT(role_state_commit_view(&s, 2, order));
    CU_ASSERT_EQUAL(s.quorum.committed.master, 1);
    CU_ASSERT(role_state_may_follow(&s, &job, &why));
    role_state_follow(&s, &job);
    assert_order("4 1-2-3-5 ");
    CU_ASSERT(cluster_is_master(&job.cluster));
    json_decref(order);
    role_state_close(&s);
}

static void who_may_not_says_why(void) {
    const char *why = "";
    set_up(1);
    job.settings.restarts = 0;
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    ASSERT_CONTAINS(why, "no restarts");
    job.settings.restarts = 1;
    CU_ASSERT(role_state_may_follow(&s, &job, &why));
    s.stopping = true;
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    s.stopping = false;
    s.ending = true;
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    s.ending = false;
    s.begun = false;
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    s.begun = true;
    /* The others have gone on without it. */
    const struct view others = {.number = 2, .master = 0, .hosts = {.words = {0x1d}}};
    s.quorum.committed = others;
    job.settings.restarts = 5;
    CU_ASSERT_FALSE(role_state_may_follow(&s, &job, &why));
    ASSERT_CONTAINS(why, "without this host");
    role_state_close(&s);
}

/* It comes before the lost master in the order. */
static void a_first_host_that_was_taken_back_follows_last(void) {
    const char *why = "";
    const struct view second = {.number = 2, .master = 3, .hosts = {.words = {0x0b}}};
    set_up(0);
    s.quorum.committed = second;
    s.master = 3;
    CU_ASSERT(role_state_may_follow(&s, &job, &why));
    role_state_follow(&s, &job);
    assert_order("1 2 3-4-5-");
    CU_ASSERT(cluster_is_master(&job.cluster));
    role_state_close(&s);
}

static void who_may_ask_to_be_taken_back(void) {
    set_up(1);
    CU_ASSERT(role_state_may_return(&s, &job));
    CU_ASSERT_FALSE(role_state_may_return(NULL, &job));
    s.attempt = 4; /* the last one */
    CU_ASSERT_FALSE(role_state_may_return(&s, &job));
    s.attempt = 3;
    CU_ASSERT(role_state_may_return(&s, &job));
    const struct view last = {.number = 4, .master = 0, .hosts = {.words = {0x1f}}};
    CU_ASSERT(quorum_take(&s.quorum, &last));
    CU_ASSERT_FALSE(role_state_may_return(&s, &job));
    s.quorum.accepted_count = 0;
    s.stopping = true;
    CU_ASSERT_FALSE(role_state_may_return(&s, &job));
    s.stopping = false;
    s.ending = true;
    CU_ASSERT_FALSE(role_state_may_return(&s, &job));
    role_state_close(&s);
    job.settings.shrink = false;
    CU_ASSERT_EQUAL(role_state_open(&s, &job, NULL), 0);
    CU_ASSERT_FALSE(role_state_may_return(&s, &job));
    role_state_close(&s);
}

/* Each of the others is asked in turn, and is the first host then, as it is for its own workers. */
static void all_others_are_asked(void) {
    static const char *const orders[] = {"1 2 3 4 5 ", "2 1 3 4 5 ", "4 1 2 3 5 ", "5 1 2 3 4 "};
    char address[NET_ADDRESS_TEXT];
    set_up(2);
    cluster_drop(&job.cluster, 1);
    role_state_return(&s, &job);
    for (size_t i = 0; i < 8; i++) {
        assert_order(orders[i % 4]);
        CU_ASSERT_EQUAL(hosts[job.cluster.self].place, 2);
        CU_ASSERT_FALSE(cluster_is_master(&job.cluster));
        net_address_text(&hosts[0].address, address);
        CU_ASSERT_EQUAL(address[7], hosts[0].name.text[5]);
        role_state_next_leader(&s, &job);
    }
    role_state_close(&s);
}

/* Of a container that was started anew: every other time the first one, which it should be. */
static void a_new_process_asks_the_first_host_between_the_others(void) {
    static const char *const orders[] = {"1 2 3 4 5 ", "2 1 3 4 5 ", "1 2 3 4 5 ",
                                         "1 2 3 4 5 ", "4 1 2 3 5 ", "1 2 3 4 5 "};
    set_up(2);
    role_state_next_leader(&s, &job);
    for (size_t i = 0; i < 6; i++) {
        assert_order(orders[i]);
        role_state_next_leader(&s, &job);
    }
    role_state_close(&s);
}

/* It asks the job's leader first, and becomes the master of a new job if no host takes it in. */
static void a_first_host_that_is_started_anew_asks_as_a_worker_and_is_the_master_again(void) {
    static const char *const orders[] = {"4 1 2 3 5 ", "5 1 2 3 4 ", "2 1 3 4 5 ", "3 1 2 4 5 "};
    set_up(0);
    memset(s.addresses, 0, HOSTS * sizeof(*s.addresses));
    s.anew = true;
    s.turn = 3;
    role_state_return(&s, &job);
    CU_ASSERT(role_state_is_again(&s) && role_state_is_back(&s));
    CU_ASSERT_FALSE(role_state_knows(&s) || role_state_knows(NULL));
    for (size_t i = 0; i < 5; i++) {
        assert_order(orders[i % 4]);
        CU_ASSERT_FALSE(cluster_is_master(&job.cluster));
        role_state_next_leader(&s, &job);
    }
    s.over = true;
    role_state_lead(&s, &job);
    assert_order("1 2 3 4 5 ");
    CU_ASSERT(cluster_is_master(&job.cluster));
    CU_ASSERT_EQUAL(s.master, 0);
    CU_ASSERT_FALSE(s.over || s.back || role_state_knows(&s));
    s.anew = false; /* it has waited for an attempt, and asks all again when its master is lost */
    s.turn = 3;
    role_state_return(&s, &job);
    CU_ASSERT(role_state_knows(&s));
    assert_order("2 1 3 4 5 ");
    role_state_close(&s);
}

/* If hosts are only counted, no name leads to any host but the first: a host that this one has not
 * dialled is never taken for the master. */
static void of_hosts_that_are_counted_those_are_asked_whose_address_is_known(void) {
    static const char *const orders[] = {"1 2 3 4 5 ", "2 1 3 4 5 ", "5 1 2 3 4 "};
    set_up(2);
    job.cluster.counted = true;
    for (size_t i = 0; i < 8; i++) {
        role_state_next_leader(&s, &job);
        assert_order("1 2 3 4 5 ");
    }
    s.addresses[3] = (struct net_address){0};
    role_state_return(&s, &job);
    for (size_t i = 0; i < 6; i++) {
        assert_order(orders[i % 3]);
        role_state_next_leader(&s, &job);
    }
    role_state_close(&s);
    set_up(0);
    job.cluster.counted = true;
    memset(s.addresses, 0, HOSTS * sizeof(*s.addresses));
    role_state_return(&s, &job);
    CU_ASSERT_FALSE(cluster_is_master(&job.cluster));
    role_state_close(&s);
}

/* Without RINGMASTER_FAILOVER nobody else is the master. */
static void where_the_first_host_may_not_be_lost_it_alone_is_asked(void) {
    set_up(2);
    role_state_close(&s);
    job.settings.failover = false;
    CU_ASSERT_EQUAL(role_state_open(&s, &job, NULL), 0);
    CU_ASSERT(role_state_may_return(&s, &job));
    role_state_return(&s, &job);
    CU_ASSERT(role_state_is_again(&s) && role_state_is_back(&s));
    role_state_next_leader(&s, &job);
    assert_order("1 2 3 4 5 ");
    role_state_close(&s);
}

static void a_join_tells_what_is_known(void) {
    struct error err;
    struct quorum quorum;
    char run[ATTEMPT_RUN_SIZE];
    int64_t quiet = 0;
    set_up(2);
    (void)snprintf(s.run, sizeof(s.run), "0123456789abcdef");
    held_clock_begin();
    s.heard = clock_boot() - 3 * CLOCK_SECOND;
    json_t *object = role_state_json(&s);
    held_clock_end();
    CU_ASSERT_EQUAL(role_state_parse(object, CLUSTER_HOSTS_MAX, run, &quorum, &quiet, &err), 0);
    CU_ASSERT_STRING_EQUAL(run, s.run);
    CU_ASSERT_EQUAL(host_set_count(&quorum.committed.hosts), HOSTS);
    CU_ASSERT_EQUAL(quiet, 3 * CLOCK_SECOND);
    (void)json_object_set_new(object, "quiet", json_integer(-1));
    CU_ASSERT_NOT_EQUAL(role_state_parse(object, CLUSTER_HOSTS_MAX, run, &quorum, &quiet, &err), 0);
    (void)json_object_set_new(object, "quiet", json_integer(1));
    (void)json_object_del(object, "run");
    CU_ASSERT_NOT_EQUAL(role_state_parse(object, CLUSTER_HOSTS_MAX, run, &quorum, &quiet, &err), 0);
    json_decref(object);
    role_state_close(&s);
}

static void assert_progress(const struct restart_progress *c, uint64_t best_step,
                            unsigned fruitless) {
    CU_ASSERT_EQUAL(c->best_step, best_step);
    CU_ASSERT_EQUAL(c->fruitless, fruitless);
}

static void how_far_attempts_have_come_goes_with_their_orders(void) {
    static const char *const odd[] = {"{}", "{\"course\": 7}", "{\"course\": [-1, 0]}",
                                      "{\"course\": [5, -1]}", "{\"course\": [5, 4]}"};
    const struct restart_progress progress = {.best_step = 1200, .fruitless = 2};
    set_up(2);
    json_t *order = json_pack("{s:o}", "course", role_state_progress(&progress));
    role_state_take_progress(&s, order);
    json_decref(order);
    assert_progress(&s.progress, 1200, 2);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        s.progress = progress;
        order = json_loads(odd[i], 0, NULL);
        role_state_take_progress(&s, order);
        json_decref(order);
        assert_progress(&s.progress, 0, 0);
    }
    role_state_close(&s);
}

/* If rank 0 alone reports steps, the loss of its host leaves the others without a report. */
static void an_attempt_that_told_nothing_here_ends_the_row(void) {
    set_up(2);
    s.progress = (struct restart_progress){.best_step = 1200, .fruitless = 1};
    role_state_note_step(&s, 1200);
    assert_progress(&s.progress, 1200, 2);
    role_state_note_step(&s, 0);
    assert_progress(&s.progress, 1200, 0);
    role_state_note_step(&s, 7);
    role_state_note_step(&s, 1201);
    assert_progress(&s.progress, 1201, 0);
    role_state_close(&s);
}

static void addresses_of_nobody_are_left_alone(void) {
    set_up(2);
    json_t *order = json_pack("{s:[[i,s],[i,s],[s],[i]]}", "addresses", 4096, "10.9.9.9", -1,
                              "10.9.9.9", "x", 1);
    CU_ASSERT(role_state_commit_view(&s, 1, order));
    CU_ASSERT_FALSE(role_state_commit_view(&s, 7, order));
    for (size_t i = 0; i < HOSTS; i++)
        CU_ASSERT(net_address_equal(&s.addresses[i], &hosts[i].address));
    json_decref(order);
    role_state_close(&s);
}

UNIT_SUITE("host.role_state", UNIT(silence_is_no_end_of_a_master),
           UNIT(each_life_has_its_time_to_reach_a_master), UNIT(off_it_changes_nothing),
           UNIT(the_next_host_becomes_the_first),
           UNIT(after_an_attempt_under_a_new_master_the_one_behind_it_follows),
           UNIT(who_may_not_says_why), UNIT(a_first_host_that_was_taken_back_follows_last),
           UNIT(who_may_ask_to_be_taken_back), UNIT(all_others_are_asked),
           UNIT(a_new_process_asks_the_first_host_between_the_others),
           UNIT(a_first_host_that_is_started_anew_asks_as_a_worker_and_is_the_master_again),
           UNIT(of_hosts_that_are_counted_those_are_asked_whose_address_is_known),
           UNIT(where_the_first_host_may_not_be_lost_it_alone_is_asked),
           UNIT(a_join_tells_what_is_known), UNIT(addresses_of_nobody_are_left_alone),
           UNIT(how_far_attempts_have_come_goes_with_their_orders),
           UNIT(an_attempt_that_told_nothing_here_ends_the_row))
