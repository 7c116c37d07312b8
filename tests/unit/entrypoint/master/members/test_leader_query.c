#include "entrypoint/master/members/leader_query.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/ports.h"
#include "tests/support/quiet_link.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOSTS = 4, THIRD = 2 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct role_state role_state;
static struct member members[HOSTS];
static struct master m;
static struct listener acceptor;
static SSL_CTX *server;
static const char *answers[4]; /* to one question after the other; NULL: the link is closed */
static int code = EXIT_CODE_NOT_READY; /* that they say */
static size_t asked;
static int64_t asked_at; /* by the clock of this test */
static int64_t between;  /* the last two questions */
static unsigned raised;

/* Time in which nothing is under way is not waited for, and counts as if it had been. */
static int64_t skipped;
static int64_t now(void) {
    return clock_now() + skipped;
}

static void raise_event(struct master *master, const struct raised *what) {
    CU_ASSERT_EQUAL(what->event, EVENT_LED_ELSEWHERE);
    raised++;
    if (master->join.begun)
        loop_end(&master->s.loop);
}

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "find_leader");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "host")), "127.0.0.1");
    const char *answer = asked < 4 ? answers[asked] : NULL;
    between = now() - asked_at;
    asked++;
    asked_at = now();
    if (answer != NULL)
        link_part(link, frame_with(answer, json_pack("{s:i}", "code", code)));
    else
        link_free(link);
}

static const struct listener_events acceptor_events = {.arrived = arrived};

/* COUNT hosts with such names and addresses, of which SELF is this one. */
static void make_job(size_t count, size_t self) {
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "127.0.0.%zu", i + 1);
    }
    job = (struct job){.settings = {.failover = true,
                                    .shrink = true,
                                    .restarts = 3,
                                    .min_hosts = 1,
                                    .dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = count, .self = self},
                       .ports = {.control = ports_own()}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, NULL), 0);
    m = (struct master){.s = {.job = &job, .role_state = &role_state},
                        .members = members,
                        .first = 1,
                        .raise = raise_event};
    for (size_t i = 0; i < HOSTS; i++)
        members[i] = (struct member){.master = &m, .index = i, .joined = i == 0};
}

/* The first host gathers all; at the third one a master listens. */
static void set_up(unsigned char master_key) {
    unsigned char key[TLS_KEY_SIZE];
    struct net_address at = address_of("127.0.0.3");
    (void)signal(SIGPIPE, SIG_IGN);
    asked = raised = 0;
    memset(answers, 0, sizeof(answers));
    make_job(HOSTS, 0);
    m.phase = PHASE_JOINING;
    m.join.begun = true;
    memset(key, 1, sizeof(key));
    m.s.contexts.client = role_state.client = tls_context_new(key, 0, NULL);
    memset(key, master_key, sizeof(key));
    server = tls_context_new(key, 1, NULL);
    reaping_open(&m.s.loop, &m.s.reaper);
    int listener = listener_listen(&at, job.ports.control, LISTENER_CONTROL, NULL);
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&acceptor, &m.s.loop, listener, server, &acceptor_events, NULL, NULL), 0);
}

static void tear_down(void) {
    leader_query_close(&m);
    listener_close(&acceptor);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&m.s.loop);
    tls_context_free(server);
    role_state_close(&role_state);
}

static void give_up(void *context) {
    (void)context;
    CU_FAIL("waited too long");
    loop_end(&m.s.loop);
}

static size_t silent_host; /* takes connections and answers nobody; 0: none does */

/* Returns whether a query is in progress that ends without waiting for a timeout. */
static bool is_under_way(void) {
    const struct dial *dial = &m.leader_query.dial;
    bool is = m.leader_query.link != NULL || dial->link != NULL || dial->resolve.watch.active;
    return is && (silent_host == 0 || m.leader_query.host != silent_host || dial->link == NULL);
}

static bool (*is_over)(void);

static struct timer ticker;

static void tick(void *context) {
    const int64_t left = m.leader_query.turn.deadline - clock_now();
    (void)context;
    if (is_over()) {
        loop_end(&m.s.loop);
        return;
    }
    if (m.leader_query.turn.active && left > 0 && !is_under_way()) {
        skipped += left;
        loop_after(&m.s.loop, &m.leader_query.turn, 0);
    }
    loop_after(&m.s.loop, &ticker, CLOCK_MILLISECOND);
}

/* Also ends when it moves to the leader that it has found. */
static void run_until(bool (*over)(void)) {
    struct timer limit = {.fire = give_up};
    is_over = over;
    ticker = (struct timer){.fire = tick};
    loop_after(&m.s.loop, &limit, 60 * CLOCK_SECOND);
    loop_after(&m.s.loop, &ticker, 0);
    leader_query_begin(&m);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    loop_cancel(&m.s.loop, &ticker);
    loop_cancel(&m.s.loop, &limit);
}

static bool has_found(void) {
    return raised > 0;
}

static void who_leads_the_job_is_found(void) {
    set_up(1);
    answers[0] = "leading";
    run_until(has_found);
    CU_ASSERT_EQUAL(raised, 1);
    CU_ASSERT_EQUAL(asked, 1);
    CU_ASSERT_EQUAL(m.leader_query.leader, THIRD);
    tear_down();
}

/* A host that takes connections and is paused. */
static void who_never_answers_holds_nobody_up_for_long(void) {
    struct net_address at = address_of("127.0.0.2");
    set_up(1);
    int silent = listener_listen(&at, job.ports.control, LISTENER_CONTROL, NULL);
    CU_ASSERT_FATAL(silent >= 0);
    silent_host = 1;
    answers[1] = "leading";
    int64_t begun = now();
    run_until(has_found);
    silent_host = 0;
    CU_ASSERT_EQUAL(raised, 1);
    CU_ASSERT_EQUAL(asked, 2);
    CU_ASSERT(asked_at - between - begun >= 2 * CLOCK_SECOND);
    CU_ASSERT(between >= 6 * CLOCK_SECOND); /* as long as a handshake may take the second time */
    (void)close(silent);
    tear_down();
}

/* It may lead it in a moment; and one that goes without an answer is no leader. */
static void who_does_not_lead_it_yet_is_asked_again(void) {
    set_up(1);
    answers[1] = "refuse";
    answers[2] = "leading";
    run_until(has_found);
    CU_ASSERT_EQUAL(raised, 1);
    CU_ASSERT_EQUAL(asked, 3);
    CU_ASSERT(between >= CLOCK_SECOND);
    CU_ASSERT_EQUAL(m.leader_query.leader, THIRD);
    tear_down();
}

static void an_answer_that_is_none_is_left_alone(void) {
    set_up(1);
    answers[0] = "welcome";
    answers[1] = "standby";
    answers[2] = "verdict";
    answers[3] = "leading";
    run_until(has_found);
    CU_ASSERT_EQUAL(asked, 4);
    CU_ASSERT_EQUAL(raised, 1);
    tear_down();
}

/* It has reached itself, say: the others are asked before it is again. */
static void who_never_leads_holds_nobody_up(void) {
    set_up(1);
    code = EXIT_CODE_CONFIG;
    answers[0] = "refuse";
    answers[1] = "leading";
    run_until(has_found);
    code = EXIT_CODE_NOT_READY;
    CU_ASSERT_EQUAL(asked, 2);
    CU_ASSERT(between >= 3 * CLOCK_SECOND / 2); /* half a second each */
    tear_down();
}

/* Each of the three twice. */
static bool all_had_their_turn(void) {
    return m.leader_query.asked >= 6;
}

static void who_has_come_is_not_asked(void) {
    int pair[2];
    set_up(1);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    members[THIRD].link = link_new(&m.s.loop, pair[0], NULL, true, &quiet_link, NULL, NULL);
    run_until(all_had_their_turn);
    CU_ASSERT_EQUAL(asked, 0);
    link_free(members[THIRD].link);
    members[THIRD].link = NULL; /* it has gone again */
    answers[0] = "leading";
    run_until(has_found);
    CU_ASSERT_EQUAL(raised, 1);
    (void)close(pair[1]);
    tear_down();
}

/* A later life would not fetch it. It asks on meanwhile, and goes there when it has all. */
static void while_it_fetches_it_is_known_who_leads(void) {
    struct error err = {0};
    set_up(1);
    m.join.begun = false;
    CU_ASSERT_EQUAL(leader_query_elsewhere(&m, &err), 0);
    answers[0] = answers[1] = "leading";
    run_until(has_found);
    CU_ASSERT_EQUAL(raised, 1); /* for the hosts that have joined */
    CU_ASSERT_EQUAL(asked, 1);
    CU_ASSERT(m.leader_query.turn.active);
    CU_ASSERT(m.leader_query.turn.deadline + skipped - asked_at >= 2 * CLOCK_SECOND);
    CU_ASSERT_NOT_EQUAL(leader_query_elsewhere(&m, &err), 0);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(err.text, "127.0.0.3 leads the job");
    m.join.begun = true;
    leader_query_go_on(&m);
    CU_ASSERT_EQUAL(raised, 2);
    tear_down();
}

static bool has_asked_again(void) {
    return asked >= 2 && !is_under_way();
}

/* It no longer leads the job, or is gone. */
static void who_has_led_it_is_asked_again_while_this_host_fetches(void) {
    struct error err;
    set_up(1);
    m.join.begun = false;
    answers[0] = "leading";
    answers[1] = "refuse";
    run_until(has_asked_again);
    CU_ASSERT_EQUAL(asked, 2);
    CU_ASSERT(between >= 2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(leader_query_elsewhere(&m, &err), 0);
    m.s.fault.code = EXIT_CODE_CONFIG;
    m.leader_query.leader = THIRD;
    unsigned before = raised;
    leader_query_go_on(&m); /* it has nothing to join with */
    CU_ASSERT_EQUAL(raised, before);
    CU_ASSERT_FALSE(m.leader_query.turn.active);
    tear_down();
}

static void another_job_is_none_of_ours(void) {
    set_up(2);
    run_until(all_had_their_turn);
    CU_ASSERT_EQUAL(asked, 0);
    CU_ASSERT_EQUAL(raised, 0);
    CU_ASSERT(m.leader_query.turn.active); /* it asks on */
    tear_down();
}

static void assert_asks_nobody(void) {
    leader_query_begin(&m);
    CU_ASSERT_FALSE(m.leader_query.turn.active);
    CU_ASSERT_FALSE(is_under_way());
    CU_ASSERT_EQUAL(m.leader_query.asked, 0);
}

static void nobody_is_asked_where_nobody_else_can_lead(void) {
    set_up(1);
    job.cluster.counted = true;
    assert_asks_nobody();
    job.cluster.counted = false;
    m.check = true;
    assert_asks_nobody();
    m.check = false;
    role_state.on = false;
    assert_asks_nobody();
    role_state.on = true;
    m.phase = PHASE_JUDGED;
    assert_asks_nobody();
    m.phase = PHASE_JOINING;
    job.cluster.count = 2;
    assert_asks_nobody();
    job.cluster.count = HOSTS;
    leader_query_begin(&m);
    CU_ASSERT(m.leader_query.turn.active && is_under_way()); /* here somebody is */
    tear_down();
}

/* --- the answer ------------------------------------------------------------------------------- */

static void assert_answer_code(const char *expected, int expected_code) {
    cleanup_buf struct buf in;
    char bytes[1024];
    json_t *message = NULL;
    int pair[2];
    buf_init(&in, FRAME_MAX);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    leader_query_answer(&m, link_new(&m.s.loop, pair[0], NULL, true, &quiet_link, NULL, NULL));
    for (ssize_t got; (got = recv(pair[1], bytes, sizeof(bytes), 0)) > 0;)
        CU_ASSERT_EQUAL(buf_add(&in, bytes, (size_t)got, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(frame_take(&in, &message, NULL), 1);
    CU_ASSERT_STRING_EQUAL(frame_type(message), expected);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "code")), expected_code);
    json_decref(message);
    (void)close(pair[1]);
}
static void assert_answer(const char *expected) {
    assert_answer_code(expected, strcmp(expected, "leading") == 0 ? 0 : EXIT_CODE_NOT_READY);
}

/* The second host of four after the first one. */
static void set_up_leader(enum phase phase) {
    const struct view second = {.number = 2, .master = 1, .hosts = {.words = {0x0e}}};
    make_job(HOSTS, 1);
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
    role_state.begun = true;
    role_state_follow(&role_state, &job);
    CU_ASSERT(quorum_take(&role_state.quorum, &second) && quorum_commit(&role_state.quorum, 2));
    m.phase = phase;
    for (size_t i = 0; i < HOSTS; i++)
        members[i].last_ack = clock_boot();
    members[1].lost = true; /* the first host */
}

static void tear_leader_down(void) {
    loop_done(&m.s.loop);
    role_state_close(&role_state);
}

static void a_master_leads_while_it_may_act(void) {
    static const enum phase acts[] = {PHASE_RUNNING, PHASE_CLEARING, PHASE_UPLOADING};
    static const enum phase rests[] = {PHASE_PROBING, PHASE_JUDGED};
    static const enum phase own[] = {PHASE_JOINING, PHASE_EXAMINING};
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        set_up_leader(acts[i]);
        assert_answer("leading");
        members[2].last_ack = members[3].last_ack = 1; /* it was paused, say, and wakes up */
        assert_answer("refuse");
        tear_leader_down();
    }
    for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
        set_up_leader(rests[i]);
        assert_answer("refuse");
        tear_leader_down();
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        set_up_leader(own[i]);
        assert_answer_code("refuse", EXIT_CODE_CONFIG);
        tear_leader_down();
    }
    set_up_leader(PHASE_RUNNING);
    role_state.on = false;
    assert_answer("refuse");
    tear_leader_down();
}

/* It may give up: a host that could take part in a new job does not wait for that. */
static void who_gathers_leads_when_enough_have_come(void) {
    set_up_leader(PHASE_GATHERING);
    assert_answer("refuse");      /* alone */
    members[1].is_standby = true; /* a host that is being taken back does not count */
    assert_answer("refuse");
    members[2].joined = true;
    assert_answer("leading");
    tear_leader_down();
}

UNIT_SUITE("master.leader_query", UNIT(who_leads_the_job_is_found),
           UNIT(who_does_not_lead_it_yet_is_asked_again),
           UNIT(an_answer_that_is_none_is_left_alone), UNIT(who_never_leads_holds_nobody_up),
           UNIT(who_never_answers_holds_nobody_up_for_long), UNIT(who_has_come_is_not_asked),
           UNIT(while_it_fetches_it_is_known_who_leads),
           UNIT(who_has_led_it_is_asked_again_while_this_host_fetches),
           UNIT(another_job_is_none_of_ours), UNIT(nobody_is_asked_where_nobody_else_can_lead),
           UNIT(a_master_leads_while_it_may_act), UNIT(who_gathers_leads_when_enough_have_come))
