/* Connections to the master, and the answers to its own queries: a list of pairs
 *
 *   ["pending", message]    first message of a new connection that has the key, in any version
 *   [host, message]         a later message of the host that has that link
 *   ["asked", message]      the answer of a host that was asked whether it leads the job
 *   ["duplicate", message]  the answer of another host that has the first host's name
 *
 * The first byte is the state of the job: 'j' hosts join, 'f' they join while this one fetches, 'x'
 * a check, 'r' ranks run, 'c' hosts are cleared, 'u' they upload, 'g' a lost master is succeeded.
 * Each host has at most one link, the count of joined hosts is right, and no two hosts share a
 * link. */
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/master/accept.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/master/failover/shared_dir.h"
#include "entrypoint/master/failover/takeover.h"
#include "entrypoint/master/master.h"
#include "entrypoint/master/members/duplicate_name.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/leader_query.h"
#include "entrypoint/master/preflight/preflight.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/reports.h"
#include "entrypoint/master/uploads.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 4, WORDS_MAX = 64 };

static struct cluster_host hosts[HOSTS];
static struct member members[HOSTS];
static struct role_state role_state;
static struct job job;
static struct master m;
static int far_ends[WORDS_MAX];
static size_t links;
static bool ended; /* this host is no longer the master */

/* Performs only the part of the phase table (master/state/phase.c) that concerns arriving hosts;
 * after certain other events this host is no longer a master. */
static void raise_event(struct master *master, const struct raised *what) {
    CHECK(master == &m && what->event < EVENT_COUNT);
    if (what->event == EVENT_ALL_JOINED && m.phase == PHASE_JOINING)
        m.phase = PHASE_RUNNING;
    if (what->event == EVENT_PEER_ARRIVED && m.phase == PHASE_GATHERING)
        takeover_admit(what->member, what->word);
    if (what->event == EVENT_LED_ELSEWHERE && !m.join.begun)
        rejoin_redirect(&m);
    ended |=
        what->event == EVENT_DUPLICATE_NAME || (what->event == EVENT_LED_ELSEWHERE && m.join.begun);
}

static void name_hosts(bool follows) {
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
    }
    job = (struct job){.settings = {.failover = true,
                                    .shrink = true,
                                    .restarts = 3,
                                    .min_hosts = 1,
                                    .ready_seconds = 60,
                                    .dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = HOSTS, .self = follows, .job = "job"}};
}

static void open_master(char at) {
    struct error err;
    bool follows = at == 'g';
    bool gathers = at == 'j' || at == 'f' || at == 'x' || at == 'g';
    name_hosts(follows);
    CHECK(role_state_open(&role_state, &job, &err) == 0);
    (void)snprintf(role_state.run, sizeof(role_state.run), "0123456789abcdef");
    role_state.begun = !gathers || follows;
    role_state.heard = clock_boot();
    if (follows)
        role_state_follow(&role_state, &job);
    m = (struct master){
        .s = {.job = &job, .role_state = &role_state},
        .members = members,
        .first = 1,
        .raise = raise_event,
        .check = at == 'x',
        .join = {.begun = at != 'f' && at != 'g'},
        .accept = {.events = &master_member_events, .listener = {.watch = {.fd = -1}}}};
    m.join.count = at == 'f' ? 0 : gathers ? 1 : HOSTS;
    m.phase = at == 'r'   ? PHASE_RUNNING
              : at == 'c' ? PHASE_CLEARING
              : at == 'u' ? PHASE_UPLOADING
                          : PHASE_JOINING;
    for (size_t i = 0; i < HOSTS; i++) {
        members[i] = (struct member){.master = &m,
                                     .index = i,
                                     .joined = !gathers || (i == 0 && at != 'f'),
                                     .lost = !gathers && i == HOSTS - 1,
                                     .last_ack = clock_boot()};
        buf_init(&members[i].line, LINE_SPLITTER_MAX);
    }
    (void)snprintf(m.duplicate_name.life, sizeof(m.duplicate_name.life), "0123456789abcde0");
    (void)snprintf(m.s.host.run, sizeof(m.s.host.run), "0123456789abcdef");
    CHECK(loop_init(&m.s.loop, &err) == 0);
    console_init(&m.s.console, &m.s.loop, frames_nowhere());
    CHECK(attempt_open(&m.attempt, 1, &job.cluster, &err) == 0);
    join_init(&m);
    reports_init(&m);
    relaunch_init(&m);
    uploads_init(&m);
    shared_dir_init(&m);
    takeover_init(&m);
    preflight_init(&m);
    CHECK(preflight_open(&m, &err) == 0);
    if (follows) {
        takeover_open(&m);
        takeover_begin(&m);
    }
    ended = false;
    links = 0;
}

static void close_master(void) {
    for (size_t i = 0; i < HOSTS; i++) {
        link_free(members[i].link);
        json_decref(members[i].pending_join);
        buf_done(&members[i].line);
        free(members[i].fault);
    }
    for (size_t i = 0; i < links; i++)
        (void)close(far_ends[i]);
    reports_close(&m);
    relaunch_close(&m);
    uploads_close(&m);
    shared_dir_close(&m);
    preflight_close(&m);
    takeover_close(&m);
    accept_close(&m);
    attempt_done(&m.attempt);
    console_done(&m.s.console);
    loop_done(&m.s.loop);
    role_state_close(&role_state);
}

static struct link *new_link(const struct link_events *events) {
    return frames_link(&m.s.loop, events, &m, &far_ends[links++]);
}

static void check_all(void) {
    size_t joined = 0;
    for (size_t i = 0; i < HOSTS; i++) {
        joined += members[i].joined;
        CHECK(members[i].link == NULL || i > 0);
        for (size_t k = 0; k < i; k++)
            CHECK(members[i].link == NULL || members[i].link != members[k].link);
    }
    CHECK(m.join.count == joined && joined <= HOSTS);
    CHECK(m.leader_query.leader < HOSTS);
    CHECK(m.fault.code == 0 || m.fault.text[0] != '\0');
}

static void knock(const json_t *message) {
    static const struct link_events deaf = {0};
    static const struct net_address peer = {0};
    struct link *link = new_link(&deaf);
    if (json_integer_value(json_object_get(message, "v")) == FRAME_VERSION)
        accept_events.arrived(&m, link, &peer, message);
    else
        accept_events.foreign(&m, link, &peer, message);
}

static void answer_inquiry(const json_t *message) {
    if (m.phase != PHASE_JOINING)
        return;
    m.leader_query.host = HOSTS - 1;
    m.leader_query.link = new_link(&leader_query_events);
    leader_query_events.message(&m, message);
}

static void answer_name(const json_t *message) {
    if (m.phase != PHASE_JOINING)
        return;
    m.duplicate_name.link = new_link(&duplicate_name_events);
    duplicate_name_events.message(&m, message);
}

static void tell(const json_t *from, const json_t *message) {
    const char *who = json_string_value(from);
    json_int_t host = json_is_integer(from) ? json_integer_value(from) : -1;
    if (!frames_heard("master", message))
        return;
    if (who != NULL && strcmp(who, "pending") == 0)
        knock(message);
    else if (who != NULL && strcmp(who, "asked") == 0)
        answer_inquiry(message);
    else if (who != NULL && strcmp(who, "duplicate") == 0)
        answer_name(message);
    else if (host > 0 && host < HOSTS && members[host].link != NULL)
        master_member_events.message(&members[host], message);
    check_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *told = NULL;
    if (size == 0 || json_parse((const char *)data + 1, size - 1, "words", &told, NULL) != 0)
        return 0;
    check_without_log();
    open_master((char)data[0]);
    for (size_t i = 0; !ended && i < json_array_size(told) && i < WORDS_MAX; i++) {
        const json_t *pair = json_array_get(told, i);
        if (json_is_object(json_array_get(pair, 1)))
            tell(json_array_get(pair, 0), json_array_get(pair, 1));
    }
    close_master();
    json_decref(told);
    return 0;
}
