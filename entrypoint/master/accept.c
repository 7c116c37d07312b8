#include "entrypoint/master/accept.h"

#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/fd_budget.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/master/failover/takeover.h"
#include "entrypoint/master/members/duplicate_name.h"
#include "entrypoint/master/members/fetch_wait.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/leader_query.h"
#include "entrypoint/master/verdict_delivery.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

#include <string.h>

/* Every connection to the master ends in one of six places, and arrived() chooses it by the peer's
 * first message. The order of its questions matters: a host that asks for the leader, or that
 * resumes an interrupted link, is no newcomer and is answered first. A peer with the first host's
 * name cannot be a member. A host that asks for the verdict gets it even if it could no longer
 * join.
 *
 * The listener has proved by then that the peer knows the job's key. Nothing else in the message is
 * trusted: a name must be one of the cluster's, and numbers are checked where they are used.
 *
 * The files that take a connection over own its link from then on. A peer that is not admitted is
 * sent a refusal with a reason, and its link is freed with that. */

/* Returns the host that MESSAGE, a first message in any version, claims to be, or -1 if it is none
 * of this job. */
static int host_of(const struct master *m, const json_t *message) {
    struct host_name name;
    const enum message kind = message_kind(message);
    const char *text = json_string_value(json_object_get(message, "host"));
    bool known = kind == MESSAGE_JOIN || kind == MESSAGE_FETCHING;
    if (!known || text == NULL || host_name_parse(text, strlen(text), &name, NULL) != 0)
        return -1;
    return cluster_find(&m->s.job->cluster, &name);
}

/* Like host_of(), but only for hosts that have a link as members. Returns -1 for the first host,
 * too, as its member has no link. */
static int member_of(const struct master *m, const json_t *message) {
    int host = host_of(m, message);
    return host > 0 ? host : -1;
}

/* Says why the host at PEER that claims to be HOST cannot have that place; 0 if it can. The order
 * decides which reason a peer gets. A second host of the same name is refused before anything
 * else, as waiting would not help it. EXIT_CODE_NOT_READY lets a peer ask again; all other codes
 * end it. */
static int check_place(struct master *m, int host, const struct net_address *peer,
                       const json_t *message, struct error *err) {
    if (host < 0)
        return error_set(err, EXIT_CODE_CONFIG, "no host of this job has that name");
    struct member *b = &m->members[host];
    bool fresh = member_is_fresh(b);
    if (fresh && member_is_duplicate(b, peer))
        return duplicate_name_error(err, member_name(b), &b->address, peer);
    if (rejoin_is(m, message))
        return rejoin_check(b, message, err);
    if (fresh)
        return error_set(
            err, EXIT_CODE_NOT_READY,
            "%s at this address answered a moment ago; ask again to see whether it is gone",
            member_name(b));
    if (m->phase == PHASE_GATHERING)
        return takeover_check(m, (size_t)host, message, err);
    if (json_object_get(message, "succession") != NULL)
        return error_set(err, EXIT_CODE_NOT_READY,
                         "this is another run of the job, which has not begun yet");
    return leader_query_elsewhere(m, err);
}

/* A connection that resumes a link carries nothing of its own: what comes over it belongs to the
 * old link. */
static void leave_alone(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void forget(void *context, const struct error *why) {
    (void)context;
    (void)why;
}

/* Callbacks of a connection that either becomes a member's or is closed. */
static const struct link_events passing = {.message = leave_alone, .closed = forget};

/* Returns the member with the link called NAME, or NULL if NAME is NULL or no link has it. A link
 * with an empty name matches nothing. */
static struct member *member_with_link(const struct master *m, const char *name) {
    for (size_t i = 1; name != NULL && i < m->s.job->cluster.count; i++) {
        const struct link *link = m->members[i].link;
        if (link != NULL && link_name(link)[0] != '\0' && strcmp(link_name(link), name) == 0)
            return &m->members[i];
    }
    return NULL;
}

/* A member has connected again after its connection was silent: its link continues over the new
 * connection (host/worker/redial.h). TAKEN is how many messages the peer has had of the old link,
 * and the answer says the same for this side; link_resume() continues from there. The answer is
 * flushed before the link changes hands, so that it is the first thing the peer reads. */
static void resume(struct master *m, struct link *link, const json_t *message) {
    struct error why;
    int64_t taken = json_integer_value(json_object_get(message, "taken"));
    struct member *b = member_with_link(m, json_string_value(json_object_get(message, "link")));
    if (b == NULL || taken < 0) {
        (void)error_set(&why, EXIT_CODE_HOST_LOST, "the other side has given up the link");
        master_refuse(link, FRAME_VERSION, &why);
        return;
    }
    link_own(link, &passing, NULL);
    link_send(link, message_with(MESSAGE_RESUMED,
                                 json_pack("{s:I}", "taken", (json_int_t)link_taken(b->link))));
    link_flush(link);
    log_warning("the connection to %s was interrupted and is restored", member_name(b));
    member_heard(b);
    (void)link_resume(b->link, link, (uint64_t)taken, m->s.job->settings.dead_seconds);
}

/* The listener's callback for the first message of a peer of this version with the job's key. Takes
 * over LINK. */
static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    struct master *m = context;
    struct error why = {0};
    char text[NET_ADDRESS_TEXT];
    if (message_kind(message) == MESSAGE_FIND_LEADER) {
        leader_query_answer(m, link);
        return;
    }
    if (message_kind(message) == MESSAGE_RESUME) {
        resume(m, link, message);
        return;
    }
    int host = host_of(m, message);
    if (host == 0) {
        duplicate_name_met(m, link, peer, message);
        return;
    }
    if (host > 0 && verdict_delivery_is_asked(m, message)) {
        verdict_delivery_meet(&m->members[host], link);
        return;
    }
    if (check_place(m, host, peer, message, &why) == 0) {
        if (rejoin_is(m, message))
            rejoin_meet(&m->members[host], link, peer, message);
        else
            join_meet(&m->members[host], link, peer, message);
        return;
    }
    net_address_text(peer, text);
    log_warning("a host at %s was refused: %s", text, why.text);
    master_refuse(link, FRAME_VERSION, &why);
}

/* Handles a peer with the job's key but another build: both it and the log get the reason. While
 * hosts join, the mismatch of a missing member becomes the fault of the job, which would otherwise
 * end only at the deadline. Later it is a line in the log, as the job runs without that peer. */
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
        join_fault(m, &theirs, host);
    else
        log_warning("%s", why.text);
    master_refuse(link, version, &theirs);
}

/* A peer that has not proved the key: rejected_peers.h limits what is logged of these, and
 * remembers which host they may be. */
static void turned_away(void *context, const struct net_address *peer, const struct error *why) {
    struct master *m = context;
    rejected_peers_add(&m->accept.rejected_peers, peer, why);
}

/* Tells rejected_peers.h which hosts are worth a lookup: only those that the job still waits for.
 */
static bool is_missing(void *context, size_t host) {
    const struct master *m = context;
    bool waits = m->phase == PHASE_JOINING || m->phase == PHASE_EXAMINING;
    return waits && m->members[host].link == NULL;
}

const struct listener_events accept_events = {
    .arrived = arrived, .foreign = foreign, .turned_away = turned_away};

/* Finds the address of the interface that the platform names, in the address family of PEER. */
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

/* Listens on the interface that the platform names if it exists and has exactly one address, else
 * on all: no other host can be asked yet which interface leads to it. */
static struct net_address listening_address(const struct master *m) {
    struct net_address v4 = {0}, v6 = {0};
    bool has_v4 = has_configured(m, "127.0.0.1", &v4), has_v6 = has_configured(m, "::1", &v6);
    if (has_v4 && has_v6)
        return (struct net_address){0};
    return has_v4 ? v4 : v6;
}

/* A job of a single host opens no listener. A master that gathers hosts after a failover opens one,
 * but neither waits for all hosts nor searches for duplicates or a leader. takeover.c has a
 * deadline of its own. On failure accept_close() cleans up. */
int accept_open(struct master *m, const struct link_events *events, struct error *err) {
    const struct job *job = m->s.job;
    m->accept.open = true;
    m->accept.events = events;
    rejected_peers_open(&m->accept.rejected_peers, &m->s.loop, &m->s.reaper, &m->s.job->cluster,
                        is_missing, m);
    fetch_wait_open(m);
    if (job->cluster.count > 1) {
        struct net_address address = listening_address(m);
        int listener = listener_listen(&address, job->ports.control, LISTENER_CONTROL, err);
        if (listener < 0 || listener_open(&m->accept.listener, &m->s.loop, listener,
                                          m->s.contexts.tls, &accept_events, m, err) != 0)
            return -1;
        listener_set_room(&m->accept.listener, fd_budget_pending(&job->cluster));
        if (m->phase == PHASE_GATHERING)
            return 0; /* it keeps time by itself */
        join_open(m);
        duplicate_name_open(m);
        leader_query_begin(m);
    }
    return 0;
}

/* Called by actions of the table, from where joining and searching do not continue either. */
void accept_disconnect_all(struct master *m) {
    join_close(m);
    leader_query_close(m);
    duplicate_name_close(m);
    listener_close(&m->accept.listener);
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        link_free(m->members[i].link);
        m->members[i].link = NULL;
    }
}

void accept_close(struct master *m) {
    join_close(m);
    leader_query_close(m);
    rejected_peers_close(&m->accept.rejected_peers);
    duplicate_name_close(m);
    listener_close(&m->accept.listener);
}
