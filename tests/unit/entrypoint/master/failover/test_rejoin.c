#include "entrypoint/master/failover/rejoin.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/master/master.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/wire/frame.h"
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
static unsigned raised[EVENT_COUNT];
static int ends[HOSTS]; /* a host's end of its link; -1: none */

static void note(struct master *master, const struct raised *what) {
    (void)master;
    raised[what->event]++;
}

/* The first host leads attempt 2 of five; host 5 is lost. */
static void set_up(bool failover) {
    memset(raised, 0, sizeof(raised));
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        ends[i] = -1;
    }
    job = (struct job){.settings = {.failover = failover,
                                    .shrink = true,
                                    .restarts = 3,
                                    .min_hosts = 1,
                                    .dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = HOSTS, .job = "job"}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, NULL), 0);
    role_state.begun = true;
    m = (struct master){.s = {.job = &job, .role_state = &role_state},
                        .members = members,
                        .raise = note,
                        .first = 1,
                        .phase = PHASE_RUNNING,
                        .attempt = {.number = 2},
                        .accept = {.events = &master_member_events},
                        .join = {.count = HOSTS}};
    (void)snprintf(m.s.host.run, sizeof(m.s.host.run), "0123456789abcdef");
    (void)snprintf(role_state.run, sizeof(role_state.run), "0123456789abcdef");
    for (size_t i = 0; i < HOSTS; i++)
        members[i] = (struct member){
            .master = &m, .index = i, .joined = true, .lost = i == 4, .last_ack = clock_boot()};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, NULL), 0);
}

static void tear_down(void) {
    for (size_t i = 0; i < HOSTS; i++) {
        link_free(members[i].link);
        json_decref(members[i].pending_join);
        if (ends[i] >= 0)
            (void)close(ends[i]);
    }
    loop_done(&m.s.loop);
    role_state_close(&role_state);
}

static json_t *join_of(const struct role_state *known) {
    struct host_info info;
    json_t *message = frame_new("join");
    host_info_gather(&job, &m.s.mpi_install, &info);
    CU_ASSERT(net_address_parse("10.0.0.9", &info.address));
    cleanup_json json_t *said = host_info_json(&info);
    (void)json_object_update(message, said);
    if (known != NULL) {
        (void)json_object_set_new(message, "succession", role_state_json(known));
        (void)json_object_set_new(message, "back", json_true());
    }
    return message;
}

static void come(size_t host, const json_t *message) {
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                          0);
    struct link *link =
        link_new(&m.s.loop, pair[0], NULL, true, &master_member_events, &members[host], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(link);
    ends[host] = pair[1];
    rejoin_meet(&members[host], link, &(struct net_address){0}, message);
}

/* The types of the messages that HOST got, one after the other. */
static void told(size_t host, char ret[256]) {
    cleanup_buf struct buf in;
    char bytes[4096];
    json_t *message = NULL;
    buf_init(&in, FRAME_MAX);
    ret[0] = '\0';
    if (members[host].link != NULL)
        link_flush(members[host].link);
    for (ssize_t got; (got = recv(ends[host], bytes, sizeof(bytes), 0)) > 0;)
        CU_ASSERT_EQUAL(buf_add(&in, bytes, (size_t)got, NULL), 0);
    while (frame_take(&in, &message, NULL) == 1) {
        (void)snprintf(ret + strlen(ret), 256 - strlen(ret), "%s ", frame_type(message));
        json_decref(message);
    }
}

static int check(size_t host, const json_t *message, struct error *err) {
    *err = (struct error){0};
    CU_ASSERT(rejoin_is(&m, message));
    return rejoin_check(&members[host], message, err);
}

static void who_follows_a_new_master_does_not_come_back(void) {
    set_up(true);
    cleanup_json json_t *anew = join_of(NULL);
    cleanup_json json_t *back = join_of(&role_state);
    cleanup_json json_t *follows = join_of(&role_state);
    (void)json_object_del(follows, "back");
    m.phase = PHASE_JOINING;
    CU_ASSERT_FALSE(rejoin_is(&m, anew));
    m.phase = PHASE_GATHERING;
    CU_ASSERT(rejoin_is(&m, anew) && rejoin_is(&m, back));
    CU_ASSERT_FALSE(rejoin_is(&m, follows));
    m.phase = PHASE_RUNNING;
    CU_ASSERT(rejoin_is(&m, anew) && rejoin_is(&m, back) && rejoin_is(&m, follows));
    tear_down();
}

static void who_may_not_wait_hears_why(void) {
    struct error err;
    set_up(false);
    cleanup_json json_t *anew = join_of(NULL);
    cleanup_json json_t *back = join_of(&role_state);
    CU_ASSERT_EQUAL(check(4, anew, &err), 0);
    CU_ASSERT_EQUAL(check(4, back, &err), 0);
    /* Nobody takes the place of a host that is counted on. It may be lost in a moment. */
    CU_ASSERT_NOT_EQUAL(check(2, anew, &err), 0);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(err.text, "attempt 2 still includes that host");
    (void)json_object_set_new(json_object_get(back, "succession"), "run",
                              json_string("fedcba9876543210"));
    CU_ASSERT_NOT_EQUAL(check(4, back, &err), 0);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    ASSERT_CONTAINS(err.text, "another run");
    (void)json_object_set_new(back, "succession", json_string("nonsense"));
    CU_ASSERT_NOT_EQUAL(check(4, back, &err), 0);
    m.attempt.number = 4; /* the last one */
    CU_ASSERT_NOT_EQUAL(check(4, anew, &err), 0);
    ASSERT_CONTAINS(err.text, "the job has begun without it");
    m.phase = PHASE_CLEARING; /* before the last one */
    CU_ASSERT_EQUAL(check(4, anew, &err), 0);
    m.phase = PHASE_UPLOADING; /* its verdict is soon known */
    CU_ASSERT_EQUAL(check(4, anew, &err), 0);
    m.phase = PHASE_JUDGED;
    CU_ASSERT_NOT_EQUAL(check(4, anew, &err), 0);
    m.phase = PHASE_RUNNING;
    m.attempt.number = 2;
    job.settings.shrink = false;
    CU_ASSERT_NOT_EQUAL(check(4, anew, &err), 0);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    tear_down();
}

/* Neither is it told of the attempt nor does it have a word in it. */
static void who_waits_disturbs_nobody(void) {
    char words[256];
    static const char *const said[] = {"stop",    "report",        "rank_started",
                                       "cleared", "view_accepted", "daemon"};
    set_up(false);
    cleanup_json json_t *join = join_of(&role_state);
    come(4, join);
    told(4, words);
    CU_ASSERT_STRING_EQUAL(words, "standby beat ");
    CU_ASSERT(members[4].lost && member_is_standby(&members[4]));
    CU_ASSERT_EQUAL(raised[EVENT_HOST_REJOINED], 1);
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        cleanup_json json_t *message = frame_new(said[i]);
        (void)json_object_set_new(message, "attempt", json_integer(2));
        (void)json_object_set_new(message, "rank", json_integer(4));
        master_member_events.message(&members[4], message);
    }
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        CU_ASSERT(event == EVENT_HOST_REJOINED || raised[event] == 0);
    CU_ASSERT_EQUAL(master_hosts_left(&m), 4);
    tear_down();
}

static void it_is_a_host_of_the_next_attempt(void) {
    char words[256];
    set_up(false);
    cleanup_json json_t *join = join_of(&role_state);
    cleanup_json json_t *fetching = frame_new("fetching");
    members[3].lost = true;
    come(3, fetching); /* it is not ready yet */
    come(4, join);
    CU_ASSERT_EQUAL(raised[EVENT_HOST_REJOINED], 1);
    CU_ASSERT_EQUAL(rejoin_count(&m), 1);
    CU_ASSERT(members[4].lost);
    told(4, words);
    m.phase = PHASE_CLEARING;
    m.attempt.number = 3;
    rejoin_take(&m);
    told(4, words);
    CU_ASSERT_STRING_EQUAL(words, "welcome "); /* a stop there is one of the job from here on */
    CU_ASSERT_FALSE(members[4].lost || members[4].is_standby);
    CU_ASSERT(members[3].lost && members[3].is_standby);
    CU_ASSERT_EQUAL(members[4].cleared, 3);
    CU_ASSERT_EQUAL(rejoin_count(&m), 0);
    CU_ASSERT_EQUAL(master_hosts_left(&m), 4);
    CU_ASSERT_EQUAL(m.join.count, HOSTS);
    /* From here on its messages count like any host's. */
    cleanup_json json_t *stop = frame_new("stop");
    master_member_events.message(&members[4], stop);
    CU_ASSERT_EQUAL(raised[EVENT_STOP], 1);
    rejoin_receive(&members[3], join);
    CU_ASSERT_EQUAL(raised[EVENT_HOST_REJOINED], 2);
    tear_down();
}

static void who_does_not_fit_is_refused_and_nobody_else_hears_of_it(void) {
    char words[256];
    set_up(false);
    cleanup_json json_t *join = join_of(&role_state);
    (void)json_object_set_new(join, "fault_code", json_integer(EXIT_CODE_CONFIG));
    (void)json_object_set_new(join, "fault_text", json_string("no mpirun"));
    come(4, join);
    told(4, words);
    ASSERT_CONTAINS(words, "refuse ");
    CU_ASSERT_PTR_NULL(members[4].link);
    CU_ASSERT_EQUAL(raised[EVENT_HOST_REJOINED], 0);
    CU_ASSERT_EQUAL(m.fault.code, 0);
    CU_ASSERT_EQUAL(rejoin_count(&m), 0);
    tear_down();
}

/* --- where the first host may be lost ----------------------------------------------------------
 */

/* Returns whether the host is taken into attempt 3 in the phase THEN. */
static bool is_taken_in(const struct quorum *known, enum phase then) {
    struct role_state theirs = role_state;
    set_up(true);
    const struct view second = {.number = 2, .master = 0, .hosts = {.words = {0x0f}}};
    CU_ASSERT(quorum_take(&role_state.quorum, &second) && quorum_commit(&role_state.quorum, 2));
    theirs = role_state;
    if (known != NULL)
        theirs.quorum = *known;
    cleanup_json json_t *join = join_of(known != NULL ? &theirs : NULL);
    come(4, join);
    size_t count = rejoin_count(&m);
    m.phase = then;
    m.attempt.number = 3;
    rejoin_take(&m);
    CU_ASSERT_EQUAL(count, !members[4].lost);
    CU_ASSERT(members[4].lost || members[4].uncounted);
    bool taken = !members[4].lost;
    tear_down();
    return taken;
}

/* A master that follows another one is in the attempt's phase by then. */
static bool is_taken(const struct quorum *known) {
    bool taken = is_taken_in(known, PHASE_CLEARING);
    CU_ASSERT_EQUAL(is_taken_in(known, PHASE_RUNNING), taken);
    return taken;
}

/* Host 5 has taken what another host, that has come to nothing, has offered to it. */
static void what_it_has_taken_is_weighed(void) {
    struct quorum known = {.committed = {.number = 1, .master = 0, .hosts = {.words = {0x1f}}}};
    CU_ASSERT(is_taken(NULL));
    CU_ASSERT(is_taken(&known));
    known.accepted[known.accepted_count++] =
        (struct view){.number = 2, .master = 1, .hosts = {.words = {0x1e}}};
    CU_ASSERT(is_taken(&known)); /* it is older than what is sure here */
    known.accepted[0].number = 3;
    CU_ASSERT_FALSE(is_taken(&known)); /* it cannot take another one of that number */
    known.committed = (struct view){.number = 4, .master = 1, .hosts = {.words = {0x1e}}};
    known.accepted_count = 0;
    CU_ASSERT_FALSE(is_taken(&known));
}

/* A container that is started anew is not the host that has come to follow this master. */
static void who_is_started_anew_while_others_gather_has_not_come(void) {
    set_up(true);
    cleanup_json json_t *fetching = frame_new("fetching");
    m.phase = PHASE_GATHERING;
    come(3, fetching);
    CU_ASSERT(member_is_standby(&members[3]));
    CU_ASSERT_FALSE(members[3].joined);
    CU_ASSERT_EQUAL(m.join.count, HOSTS - 1);
    join_left(&members[3]); /* and the one that it was may still come */
    CU_ASSERT_FALSE(members[3].is_standby);
    CU_ASSERT_EQUAL(m.join.count, HOSTS - 1);
    tear_down();
}

/* It is not counted for the right of the master before all have taken the view. */
static void it_has_no_voice_before_the_view_is_committed(void) {
    set_up(true);
    CU_ASSERT_FALSE(lease_is_out(&m));
    members[1].last_ack = members[2].last_ack = 0;
    members[4].lost = false;
    CU_ASSERT_FALSE(lease_is_out(&m)); /* hosts 1, 4 and 5 */
    members[4].uncounted = true;
    CU_ASSERT(lease_is_out(&m));
    relaunch_commit(&m);
    CU_ASSERT_FALSE(members[4].uncounted || lease_is_out(&m));
    tear_down();
}

/* Two hosts are a part of five that has no right by what they have offered themselves and not all
 * have taken; the view before is that of these two. */
static void a_roll_that_is_offered_takes_no_right(void) {
    set_up(true);
    const struct view two = {.number = 2, .master = 0, .hosts = {.words = {0x03}}};
    const struct view five = {.number = 3, .master = 0, .hosts = {.words = {0x1f}}};
    members[2].uncounted = members[3].uncounted = members[4].uncounted = true;
    CU_ASSERT(quorum_take(&role_state.quorum, &two) && quorum_commit(&role_state.quorum, 2));
    CU_ASSERT(quorum_take(&role_state.quorum, &five));
    CU_ASSERT_FALSE(lease_is_out(&m));
    m.first = 4; /* it has offered that in an earlier life */
    CU_ASSERT(lease_is_out(&m));
    tear_down();
}

/* --- a first host that is started anew --------------------------------------------------------
 */

/* What HOST got as its link ended: TEXT, to ask later, or elsewhere. */
static void assert_sent_on(size_t host, const char *text) {
    cleanup_buf struct buf in;
    char bytes[4096];
    json_t *message = NULL;
    bool refused = false;
    buf_init(&in, FRAME_MAX);
    CU_ASSERT_PTR_NULL(members[host].link);
    for (ssize_t got; (got = recv(ends[host], bytes, sizeof(bytes), 0)) > 0;)
        CU_ASSERT_EQUAL(buf_add(&in, bytes, (size_t)got, NULL), 0);
    for (; frame_take(&in, &message, NULL) == 1; json_decref(message))
        if (strcmp(frame_type(message), "refuse") == 0) {
            refused = true;
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "code")),
                            EXIT_CODE_NOT_READY);
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "text")), text);
        }
    CU_ASSERT(refused);
}

/* A host that has joined it for a new job searches on: the job goes on elsewhere, here under
 * host 3. */
static void who_gives_way_sends_the_others_on(void) {
    set_up(true);
    cleanup_json json_t *join = join_of(NULL);
    come(1, join);
    come(4, join);
    m.leader_query.leader = 2;
    m.s.judged = true; /* nothing runs here that would have to be ended */
    rejoin_redirect(&m);
    rejoin_ask(&m);
    CU_ASSERT(role_state.back && role_state.anew);
    CU_ASSERT_EQUAL(role_state.turn, 2);
    assert_sent_on(1, "algo-3 leads the job");
    assert_sent_on(4, "algo-3 leads the job");
    tear_down();
}

/* A host that waits for an attempt of a master that is out waits in vain, and has lost nothing: it
 * searches on. The master's own hosts get no message: each finds out for itself. */
static void who_is_out_sends_on_who_waits_alone(void) {
    char words[256];
    set_up(true);
    cleanup_json json_t *join = join_of(NULL);
    come(3, join);
    come(4, join);
    members[3].is_standby = false;
    told(3, words);
    role_state.anew = true;
    m.s.judged = true;
    rejoin_redirect(&m);
    rejoin_ask(&m);
    CU_ASSERT(role_state.back);
    CU_ASSERT_FALSE(role_state.anew);
    assert_sent_on(4, "it no longer leads a job");
    told(3, words);
    CU_ASSERT_STRING_EQUAL(words, "");
    tear_down();
}

UNIT_SUITE("master.rejoin", UNIT(who_follows_a_new_master_does_not_come_back),
           UNIT(who_may_not_wait_hears_why), UNIT(who_waits_disturbs_nobody),
           UNIT(it_is_a_host_of_the_next_attempt),
           UNIT(who_does_not_fit_is_refused_and_nobody_else_hears_of_it),
           UNIT(what_it_has_taken_is_weighed),
           UNIT(who_is_started_anew_while_others_gather_has_not_come),
           UNIT(it_has_no_voice_before_the_view_is_committed),
           UNIT(a_roll_that_is_offered_takes_no_right), UNIT(who_gives_way_sends_the_others_on),
           UNIT(who_is_out_sends_on_who_waits_alone))
