#include "master/join.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "host/capacity.h"
#include "master/comeback.h"
#include "master/fetching.h"
#include "master/gather.h"
#include "master/inquiry.h"
#include "master/lease.h"
#include "wire/frame.h"
#include "wire/tls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    ANNOUNCE_SECONDS = 5,
    FAULT_SECONDS = 30, /* for hosts to join and hear that there is no job */
    HURRY_SECONDS = 5,  /* for the same after a stop */
    BUSY_SECONDS = 30,  /* between two lines while all are here, and some fetch */
};

static void announce(void *context) {
    struct master *m = context;
    char missing[FETCHING_NAMES_MAX];
    char busy[FETCHING_NAMES_MAX];
    bool any_missing = fetching_missing(m, missing) > 0;
    bool any_busy = fetching_busy(m, busy) > 0;
    log_info("%zu of %zu hosts are ready%s%s%s%s", m->join.count, m->s.job->cluster.count,
             any_missing ? ", missing" : "", missing, any_busy ? ", fetching:" : "", busy);
    loop_after(&m->s.loop, &m->join.announce,
               (any_missing ? ANNOUNCE_SECONDS : BUSY_SECONDS) * CLOCK_SECOND);
}

static void blame_stranger(struct master *m, int host, const struct net_address *address,
                           const char *missing) {
    char peer[NET_ADDRESS_TEXT];
    net_address_text(address, peer);
    (void)error_set(&m->fault, EXIT_CODE_KEY_REFUSED,
                    "missing%s; %s at %s was refused: " TLS_ANOTHER_KEY, missing,
                    supervisor_host_name(&m->s, (size_t)host), peer);
}

/* It is there and does not get further. */
static void blame_fetching(struct master *m, const struct member *b) {
    const char *text = b->fetching.mark.text;
    m->fault_host = (int)b->index;
    (void)error_set(&m->fault, EXIT_CODE_NOT_READY,
                    "%s has got no further in fetching what it needs for %lld s%s%s",
                    member_name(b), (long long)m->s.job->settings.ready_seconds,
                    text[0] != '\0' ? "; the last of it: " : "", text);
}

/* Why hosts are missing becomes the fault. LATE is the first. */
static void blame_late(struct master *m, const struct member *late) {
    char missing[FETCHING_NAMES_MAX];
    struct net_address address = {0};
    int stranger = strangers_host(&m->join.strangers, &address);
    m->fault_host = -1;
    (void)fetching_missing(m, missing);
    if (late->fetching.busy)
        blame_fetching(m, late);
    else if (stranger >= 0)
        blame_stranger(m, stranger, &address, missing);
    else
        (void)error_set(&m->fault, EXIT_CODE_NOT_READY,
                        "only %zu of %zu hosts within %lld s, missing%s", m->join.count,
                        m->s.job->cluster.count, (long long)m->s.job->settings.ready_seconds,
                        missing);
}

/* Whoever has got further meanwhile has moved its own deadline. */
static void deadline_passed(void *context) {
    struct master *m = context;
    if (m->check) { /* whoever is not here is a row */
        master_raise(m, EVENT_READY_DEADLINE);
        return;
    }
    int64_t due = 0;
    const struct member *late = fetching_first(m, &due);
    bool ending = m->attempt.stop_asked != 0 || m->fault.code != 0;
    if (!ending && late == NULL)
        return;
    if (!ending && m->inquiry.leader > 0) /* they have a job, and this host fetches for it */
        due = clock_now() + m->s.job->settings.ready_seconds * CLOCK_SECOND;
    if (!ending && due > clock_now()) {
        loop_at(&m->s.loop, &m->join.deadline, due);
        return;
    }
    if (!ending)
        blame_late(m, late);
    master_raise(m, EVENT_READY_DEADLINE);
}

/* Of a master that follows another one. */
static bool gathers(const struct master *m) {
    return m->phase == PHASE_GATHERING;
}

static void begin_if_complete(struct master *m) {
    if (m->join.count < m->s.job->cluster.count)
        return;
    loop_cancel(&m->s.loop, &m->join.deadline);
    loop_cancel(&m->s.loop, &m->join.announce);
    inquiry_close(m);
    /* For those who come too late, to be told so. */
    door_set_room(&m->join.door, DOOR_GUESTS_LEAST);
    master_raise(m, EVENT_ALL_JOINED);
}

/* There is nobody left who has to be waited for so that all hear of a stop or a fault. */
static void hurry_if_all_hear(struct master *m) {
    if ((m->fault.code == 0 && m->attempt.stop_asked == 0) || m->join.namesake.pending)
        return;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].link == NULL)
            return;
    loop_at(&m->s.loop, &m->join.deadline, clock_now());
}

/* Of a check, in which it is one row of many; the first one counts. */
static void keep_own_fault(struct member *b, const struct error *fault) {
    if (b->fault == NULL && (b->fault = malloc(sizeof(*b->fault))) != NULL)
        *b->fault = *fault;
    log_warning("%s: %s", member_name(b), fault->text);
}

/* A fault of ours or of a host: all hosts are still given time to join, so that they hear of it. */
static void keep_fault(struct master *m, const struct error *fault, int host) {
    if (m->fault.code != 0)
        return;
    if (m->check) { /* the others have the time that they had */
        keep_own_fault(&m->members[host], fault);
        return;
    }
    m->fault = *fault;
    m->fault_host = host;
    log_error("%s: %s", supervisor_host_name(&m->s, (size_t)host), fault->text);
    int64_t left = m->s.job->settings.ready_seconds < FAULT_SECONDS
                       ? m->s.job->settings.ready_seconds
                       : FAULT_SECONDS;
    loop_after(&m->s.loop, &m->join.deadline, left * CLOCK_SECOND);
    hurry_if_all_hear(m);
}

/* Of a join: what is wrong with the host; 0: nothing. */
static int fault_code(const json_t *message) {
    json_int_t code = json_integer_value(json_object_get(message, "fault_code"));
    return code > 0 && code <= UINT8_MAX ? (int)code : 0;
}

void join_weigh(struct member *b, const json_t *message, struct error *fault) {
    struct facts ours;
    int code = fault_code(message);
    const char *text = NULL;
    (void)json_member_string(message, "join", "fault_text", &text, NULL);
    facts_gather(b->master->s.job, &b->master->s.tools, &ours);
    bool sound = facts_parse(message, &b->facts, fault) == 0;
    if (code > 0)
        (void)error_set(fault, (enum exit_code)code, "%s", text != NULL ? text : "a fault");
    else if (sound && b->master->s.fault.code == 0 && !b->master->check)
        (void)facts_compare(&ours, &b->facts, fault);
    b->master->s.job->cluster.hosts[b->index].address = b->facts.address;
    b->offset = b->facts.boot - clock_boot(); /* until a heartbeat tells it better */
    b->skew = b->facts.clock - clock_wall();
    json_int_t port = json_integer_value(json_object_get(message, "examine_port"));
    b->examine_port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* Open MPI takes connections from addresses alone that their hosts know as their own. */
static void warn_of_translation(const struct member *b, const struct net_address *peer,
                                const json_t *message) {
    const char *text = NULL;
    struct net_address own;
    char seen[NET_ADDRESS_TEXT];
    (void)json_member_string(message, "join", "address", &text, NULL);
    if (text == NULL || !net_address_parse(text, &own) || net_address_equal(&own, peer))
        return;
    net_address_text(peer, seen);
    log_warning("%s sends from %s and arrives from %s: a firewall between the hosts translates "
                "addresses (a masquerade rule?), and MPI drops such connections",
                member_name(b), text, seen);
}

static void admit(struct member *b, const json_t *message) {
    struct master *m = b->master;
    b->joined = true;
    m->join.count++;
    link_send(b->link, frame_with("welcome", json_pack("{s:s}", "run", m->s.host.run)));
    lease_greet(b);
    warn_of_translation(b, &b->address, message);
    struct error fault = {0};
    join_weigh(b, message, &fault);
    if (fault.code != 0)
        keep_fault(m, &fault, (int)b->index);
    log_info("%s is here, %zu of %zu", member_name(b), m->join.count,
             cluster_hosts_left(&m->s.job->cluster));
    journal_put(
        &m->s.journal, RECORD_JOINED,
        json_pack("{s:s, s:I}", "which", member_name(b), "count", (json_int_t)m->join.count));
    if (gathers(m))
        gather_admit(b, message);
    else
        begin_if_complete(m);
}

/* It is known what it has to fit to, or does not matter; and that this is the first host. */
static bool may_be_taken_in(const struct master *m, const json_t *message) {
    return !m->join.namesake.pending && (m->join.begun || fault_code(message) != 0);
}

void join_told(struct member *b, const json_t *message) {
    struct master *m = b->master;
    struct mark mark;
    if ((m->phase != PHASE_JOINING && !gathers(m)) || b->joined)
        return;
    if (strcmp(frame_type(message), "join") != 0) {
        mark_parse(message, &mark);
        fetching_told(b, &mark);
    } else if (may_be_taken_in(m, message)) {
        admit(b, message);
    } else {
        json_decref(b->asks);
        b->asks = json_incref((json_t *)(uintptr_t)message);
    }
}

/* It has a link from now on, and says the rest over that. */
static void meet(struct member *b, struct link *link, const struct net_address *peer,
                 const json_t *message) {
    struct master *m = b->master;
    if (b->link != NULL) { /* silent by now: it was started again before we saw its link end */
        link_free(b->link);
        join_left(b);
    }
    b->link = link;
    b->address = *peer;
    link_own(link, m->join.events, b);
    link_set_silence(link, m->s.job->settings.dead_seconds);
    member_heard(b);
    join_told(b, message);
    if (m->phase == PHASE_JOINING)
        hurry_if_all_hear(m);
}

/* The host that MESSAGE, its first word in any version, says that it is; -1: none of ours. */
static int host_of(const struct master *m, const json_t *message) {
    struct host_name name;
    const char *type = frame_type(message);
    const char *text = json_string_value(json_object_get(message, "host"));
    bool known = strcmp(type, "join") == 0 || strcmp(type, "fetching") == 0;
    if (!known || text == NULL || host_name_parse(text, strlen(text), &name, NULL) != 0)
        return -1;
    return cluster_find(&m->s.job->cluster, &name);
}

/* The same of those that can be members with a link. */
static int member_of(const struct master *m, const json_t *message) {
    int host = host_of(m, message);
    return host > 0 ? host : -1;
}

/* Why the host at PEER that says to be HOST cannot have that place; 0 where it can. */
static int check_place(const struct master *m, int host, const struct net_address *peer,
                       const json_t *message, struct error *err) {
    if (host < 0)
        return error_set(err, EXIT_CODE_CONFIG, "no host of this job has that name");
    const struct member *b = &m->members[host];
    if (member_is_fresh(b))
        return namesake_error(err, member_name(b), &b->address, peer);
    if (comeback_is(m, message))
        return comeback_check(b, message, err);
    if (gathers(m))
        return gather_check(m, (size_t)host, message, err);
    if (json_object_get(message, "succession") != NULL)
        return error_set(err, EXIT_CODE_NOT_READY, "this is another run, which has not begun yet");
    return inquiry_elsewhere(m, err);
}

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    struct master *m = context;
    struct error why = {0};
    char text[NET_ADDRESS_TEXT];
    if (strcmp(frame_type(message), "seek") == 0) {
        inquiry_answer(m, link);
        return;
    }
    int host = host_of(m, message);
    if (host == 0) {
        namesake_met(m, link, peer, message);
        return;
    }
    if (check_place(m, host, peer, message, &why) == 0) {
        if (comeback_is(m, message))
            comeback_meet(&m->members[host], link, peer, message);
        else
            meet(&m->members[host], link, peer, message);
        return;
    }
    net_address_text(peer, text);
    log_warning("a host at %s was refused: %s", text, why.text);
    master_refuse(link, FRAME_VERSION, &why);
}

/* Another build with our key: it is told, and so is everybody else. */
static void foreign(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    struct master *m = context;
    struct error why = {0};
    struct error theirs = {0};
    char text[NET_ADDRESS_TEXT];
    int64_t version = frame_version(message);
    int host = member_of(m, message);
    net_address_text(peer, text);
    (void)frame_error_version(&why, host >= 0 ? supervisor_host_name(&m->s, (size_t)host) : text,
                              version);
    (void)error_set(&theirs, EXIT_CODE_CONFIG,
                    "it speaks version %lld of the control link, the master version %d: another "
                    "image build",
                    (long long)version, FRAME_VERSION);
    if (host >= 0 && m->phase == PHASE_JOINING && !m->members[host].joined)
        keep_fault(m, &theirs, host);
    else
        log_warning("%s", why.text);
    master_refuse(link, version, &theirs);
}

static void turned_away(void *context, const struct net_address *peer, const struct error *why) {
    struct master *m = context;
    strangers_add(&m->join.strangers, peer, why);
}

static bool is_missing(void *context, size_t host) {
    const struct master *m = context;
    bool waits = m->phase == PHASE_JOINING || m->phase == PHASE_EXAMINING;
    return waits && m->members[host].link == NULL;
}

static const struct door_events door_events = {
    .arrived = arrived, .foreign = foreign, .turned_away = turned_away};

void join_left(struct member *b) {
    struct master *m = b->master;
    bool was_here = b->joined || b->asks != NULL || b->fetching.busy;
    m->join.count -= b->joined;
    b->joined = b->waits = false;
    b->trip = 0;
    json_decref(b->asks);
    b->asks = NULL;
    fetching_left(b);
    if (was_here)
        log_warning("%s has gone again", member_name(b));
}

/* The address of the interface that the platform names, in the family of PEER. */
static bool has_configured(const struct master *m, const char *peer, struct net_address *ret) {
    const char *configured = m->s.job->cluster.interface;
    char warning[INTERFACE_WARNING_SIZE] = "";
    struct interface interface;
    struct net_address address;
    if (configured[0] == '\0' || !net_address_parse(peer, &address) ||
        interface_choose(configured, &address, &interface, warning, NULL) != 0 ||
        warning[0] != '\0')
        return false;
    *ret = interface.address;
    return true;
}

/* On the interface that the platform names, where that exists with one address; else on all, as no
 * other host can be asked yet which one leads to it. */
static struct net_address listening_address(const struct master *m) {
    struct net_address v4 = {0}, v6 = {0};
    bool has_v4 = has_configured(m, "127.0.0.1", &v4), has_v6 = has_configured(m, "::1", &v6);
    if (has_v4 && has_v6)
        return (struct net_address){0};
    return has_v4 ? v4 : v6;
}

void join_hurry(struct master *m) {
    loop_after(&m->s.loop, &m->join.deadline, HURRY_SECONDS * CLOCK_SECOND);
    hurry_if_all_hear(m);
}

void join_init(struct master *m) {
    m->fault_host = -1;
    m->join.deadline = (struct timer){.fire = deadline_passed, .context = m};
    m->join.announce = (struct timer){.fire = announce, .context = m};
}

int join_draw_name(char ret[ATTEMPT_RUN_SIZE], struct error *err) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return error_set_errno(err, EXIT_CODE_INTERNAL, "drawing a name");
    (void)snprintf(ret, ATTEMPT_RUN_SIZE, "%016" PRIx64, number);
    return 0;
}

/* Unlike any other run's, also of a job of the same name. */
static int name_run(struct master *m, struct error *err) {
    char run[ATTEMPT_RUN_SIZE];
    if (join_draw_name(run, err) != 0)
        return -1;
    host_set_run(&m->s.host, run);
    return 0;
}

int join_open(struct master *m, const struct link_events *events, struct error *err) {
    const struct job *job = m->s.job;
    m->join.open = true;
    m->join.events = events;
    strangers_open(&m->join.strangers, &m->s.loop, &m->s.reaper, &m->s.job->cluster, is_missing, m);
    fetching_open(m);
    if (job->cluster.count > 1) {
        struct net_address address = listening_address(m);
        int listener = door_listen(&address, job->ports.control, DOOR_CONTROL, err);
        if (listener < 0 || door_open(&m->join.door, &m->s.loop, listener, m->s.contexts.tls,
                                      &door_events, m, err) != 0)
            return -1;
        door_set_room(&m->join.door, capacity_guests(&job->cluster));
        if (gathers(m))
            return 0; /* it counts the time by itself */
        log_info("waiting for %zu hosts on port %u", job->cluster.count - 1, job->ports.control);
        loop_after(&m->s.loop, &m->join.announce, ANNOUNCE_SECONDS * CLOCK_SECOND);
        if (m->attempt.stop_asked == 0)
            loop_after(&m->s.loop, &m->join.deadline, job->settings.ready_seconds * CLOCK_SECOND);
        namesake_open(m);
        inquiry_begin(m);
    }
    return 0;
}

static void admit_those_who_asked(struct master *m) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (b->asks == NULL || !may_be_taken_in(m, b->asks))
            continue;
        cleanup_json json_t *message = b->asks;
        b->asks = NULL;
        if (m->phase == PHASE_JOINING || gathers(m))
            admit(b, message);
    }
}

void join_go_on(struct master *m) {
    admit_those_who_asked(m);
    if (m->phase == PHASE_JOINING)
        hurry_if_all_hear(m);
}

void join_part(struct master *m) {
    loop_cancel(&m->s.loop, &m->join.announce);
    loop_cancel(&m->s.loop, &m->join.deadline);
    inquiry_close(m);
    namesake_close(m);
    door_close(&m->join.door);
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        link_free(m->members[i].link);
        m->members[i].link = NULL;
    }
}

int join_begin(struct master *m, struct error *err) {
    if (gathers(m)) {
        gather_begin(m);
        admit_those_who_asked(m);
        return 0;
    }
    if (name_run(m, err) != 0)
        return -1;
    m->join.begun = true;
    m->members[0].joined = true;
    m->join.count++;
    facts_gather(m->s.job, &m->s.tools, &m->members[0].facts);
    if (m->s.fault.code != 0)
        keep_fault(m, &m->s.fault, 0);
    admit_those_who_asked(m);
    if (m->phase == PHASE_JOINING)
        inquiry_go_on(m);
    if (m->phase == PHASE_JOINING)
        begin_if_complete(m);
    return 0;
}

void join_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->join.deadline);
    loop_cancel(&m->s.loop, &m->join.announce);
    inquiry_close(m);
    strangers_close(&m->join.strangers);
    namesake_close(m);
    door_close(&m->join.door);
}
