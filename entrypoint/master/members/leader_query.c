#include "entrypoint/master/members/leader_query.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

/* The search runs while this host gathers hosts for what it takes for a new job, and does not delay
 * that. Hosts that have connected here follow no other master and are not asked. One host is asked
 * at a time, and one timer paces everything: while a question is open it bounds the wait, and
 * afterwards it is the pause before the next.
 *
 * A host that answers `leading` is asked again and again (same), as it may lose its quorum before
 * this host has downloaded what it needs. Any other end of a question moves on to the next host and
 * forgets the leader. */

/* Time for a handshake and the answer: short at first, as a paused host delays the question to the
 * host that has taken over, later as long as a slow network needs; then the pause between two
 * hosts, and between two questions to a host that listens but does not lead the job yet. */
static const int64_t first_patience = 2 * CLOCK_SECOND;
static const int64_t patience = (LINK_HANDSHAKE_SECONDS + 1) * CLOCK_SECOND;
static const int64_t look = CLOCK_SECOND / 2;
static const int64_t soon = CLOCK_SECOND;
static const int64_t held = 3 * CLOCK_SECOND; /* the same, to the host that leads it */

/* --- the question ----------------------------------------------------------------------------- */

/* Closes whatever the open question has: a connection in progress, or a link. */
static void let_go(struct master_leader_query *q) {
    dial_stop(&q->dial);
    link_free(q->link);
    q->link = NULL;
}

static void ask_another(struct master *m) {
    let_go(&m->leader_query);
    m->leader_query.same = false;
    m->leader_query.leader = 0;
    loop_after(&m->s.loop, &m->leader_query.turn, look);
}

/* The event repeats with every such answer, so that hosts that have connected since are redirected,
 * too. The log has it once. */
static void found(struct master *m) {
    bool first = m->leader_query.leader == 0;
    m->leader_query.leader = m->leader_query.host;
    if (first && !m->join.begun)
        log_info("%s leads the job: this host downloads what it needs, then asks to rejoin",
                 supervisor_host_name(&m->s, m->leader_query.leader));
    master_raise(m, EVENT_LED_ELSEWHERE);
}

/* NOT_READY comes from a host that may lead later, and is asked again soon. A message that is
 * neither counts as no. */
static void answered(void *context, const json_t *message) {
    struct master *m = context;
    bool leads = message_kind(message) == MESSAGE_LEADING;
    bool later = json_integer_value(json_object_get(message, "code")) == EXIT_CODE_NOT_READY;
    if (!leads && !later) {
        ask_another(m);
        return;
    }
    let_go(&m->leader_query);
    m->leader_query.same = true;
    loop_after(&m->s.loop, &m->leader_query.turn, leads ? held : soon);
    if (leads)
        found(m);
    else
        m->leader_query.leader = 0;
}

static void closed(void *context, const struct error *why) {
    (void)why;
    ask_another(context);
}

const struct link_events leader_query_events = {.message = answered, .closed = closed};

/* The question names the host that asks, not the one that is asked. */
static void opened(void *context, struct link *link, const struct net_address *peer) {
    struct master *m = context;
    (void)peer;
    m->leader_query.link = link;
    link_own(link, &leader_query_events, m);
    link_send(link, message_with(MESSAGE_FIND_LEADER,
                                 json_pack("{s:s}", "host", supervisor_own_name(&m->s))));
}

/* A host with another key belongs to another job. The listener reports hosts that are missing
 * because of that. */
static void refused_once(void *context, const struct net_address *peer, const struct error *why) {
    (void)context;
    (void)peer;
    (void)why;
}

static void refused(void *context, const struct error *why) {
    (void)why;
    ask_another(context);
}

static void round_failed(void *context) {
    ask_another(context);
}

static const struct dial_events dial_events = {opened, refused_once, refused, round_failed};

/* Returns the next host that has not connected to this one; 0 if all have. */
static size_t next_host(const struct master *m) {
    size_t others = m->s.job->cluster.count - 1;
    size_t host = m->leader_query.same ? m->leader_query.host : 1 + m->leader_query.host % others;
    for (size_t left = others; left > 0; left--) {
        if (m->members[host].link == NULL)
            return host;
        host = 1 + host % others;
    }
    return 0;
}

/* The patience is short in the first round over all hosts. It is set before the dialling starts,
 * and also if all hosts have connected and none is left to ask. */
static void ask(void *context) {
    struct master *m = context;
    size_t host = next_host(m);
    bool answered_last = m->leader_query.same;
    let_go(&m->leader_query);
    m->leader_query.same = false; /* if this one does not answer */
    if (!answered_last || host != m->leader_query.leader)
        m->leader_query.leader = 0;
    if (m->phase != PHASE_JOINING)
        return;
    bool first = m->leader_query.asked < m->s.job->cluster.count - 1;
    loop_after(&m->s.loop, &m->leader_query.turn, first ? first_patience : patience);
    if (host == 0)
        return;
    m->leader_query.host = host;
    m->leader_query.asked++;
    dial_start(&m->leader_query.dial, &m->s.loop, &m->s.reaper, m->s.contexts.client,
               supervisor_host_name(&m->s, host), m->s.job->ports.control, &dial_events, m);
}

void leader_query_go_on(struct master *m) {
    if (m->s.fault.code != 0)
        leader_query_close(m);
    else if (m->leader_query.leader > 0)
        master_raise(m, EVENT_LED_ELSEWHERE);
}

int leader_query_elsewhere(const struct master *m, struct error *err) {
    if (m->leader_query.leader == 0)
        return 0;
    return error_set(err, EXIT_CODE_NOT_READY, "%s leads the job",
                     supervisor_host_name(&m->s, m->leader_query.leader));
}

/* No name leads to another host where hosts are only counted. A check does not search, since it
 * leads no job. With two hosts the second never is the master, so there is no host to ask. */
void leader_query_begin(struct master *m) {
    const struct cluster *c = &m->s.job->cluster;
    leader_query_close(m);
    m->leader_query.turn = (struct timer){.fire = ask, .context = m};
    if (role_state_others_lead(m->s.role_state, c) && !c->counted && !m->check)
        ask(m);
}

void leader_query_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->leader_query.turn);
    let_go(&m->leader_query);
    m->leader_query.same = false;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* A master that gathers hosts after a failover and has too few may give up: a host that could take
 * part in a new job should not wait for it. */
bool leader_query_leads(const struct master *m) {
    bool may = m->phase == PHASE_GATHERING || m->phase == PHASE_RUNNING ||
               m->phase == PHASE_CLEARING || m->phase == PHASE_UPLOADING;
    return may && role_state_is_on(m->s.role_state) && lease_allows(m, &m->s.role_state->quorum);
}

/* The host that asks gathers hosts itself and may reach itself under another host's name. */
void leader_query_answer(const struct master *m, struct link *link) {
    struct error err = {0};
    bool itself = m->phase == PHASE_JOINING || m->phase == PHASE_EXAMINING;
    if (leader_query_leads(m)) {
        link_part(link, message_new(MESSAGE_LEADING));
        return;
    }
    (void)error_set(&err, itself ? EXIT_CODE_CONFIG : EXIT_CODE_NOT_READY,
                    "this host leads no job");
    master_refuse(link, FRAME_VERSION, &err);
}
