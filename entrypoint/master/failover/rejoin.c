#include "entrypoint/master/failover/rejoin.h"

#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/leader_query.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

#include <string.h>

/* A host that comes while the job runs was lost and is back, with the views that it has accepted,
 * or its container was restarted and knows nothing. Either gets a link and waits (rejoin_meet). Its
 * join is kept in pending_join until an attempt begins that can include it (rejoin_take).
 *
 * Nothing of a waiting host counts for the running attempt: not its messages, nor its loss.
 *
 * What a host knows may bind this master if failover is on: a view of a later attempt proves that
 * another master has led. The host's views are merged with this master's (fits), and only a quorum
 * in both lets it in. */

/* While hosts gather after a failover, a follower of the lost master is no returning host, but one
 * of those awaited (takeover.c). */
bool rejoin_is(const struct master *m, const json_t *message) {
    bool follows = json_object_get(message, "succession") != NULL &&
                   !json_is_true(json_object_get(message, "back"));
    return m->phase == PHASE_GATHERING ? !follows : m->phase != PHASE_JOINING;
}

/* Returns the number of the attempt that would readmit the host. */
static unsigned next_attempt(const struct master *m) {
    if (m->phase == PHASE_GATHERING)
        return quorum_last(&m->s.role_state->quorum)->number + 1;
    return m->attempt.number + (m->phase == PHASE_RUNNING);
}

/* Returns true if waiting makes sense: for an attempt, or for a verdict that is almost known. */
static bool is_open(const struct master *m) {
    const struct settings *settings = &m->s.job->settings;
    bool runs =
        m->phase == PHASE_RUNNING || m->phase == PHASE_CLEARING || m->phase == PHASE_GATHERING;
    bool more = (int64_t)next_attempt(m) <= settings->restarts + 1;
    return settings_readmit(settings) && ((runs && more) || m->phase == PHASE_UPLOADING);
}

/* Reads what the host knows of the job: returns 1, or 0 if it knows nothing because it was
 * restarted. */
static int parse(const struct master *m, const json_t *message, char run[ATTEMPT_RUN_SIZE],
                 struct quorum *quorum, struct error *err) {
    int64_t quiet = 0;
    const json_t *known = json_object_get(message, "succession");
    if (known == NULL)
        return 0;
    size_t places = m->s.job->cluster.count;
    return role_state_parse(known, places, run, quorum, &quiet, err) == 0 ? 1 : -1;
}

/* A host that the running attempt still includes may be the same one, killed and restarted before
 * its loss was noticed. It may ask again, and is let in once it counts as lost. A host of another
 * run of the same job never is. */
int rejoin_check(const struct member *b, const json_t *message, struct error *err) {
    const struct master *m = b->master;
    char run[ATTEMPT_RUN_SIZE];
    struct quorum quorum;
    if (!is_open(m))
        return error_set(err, EXIT_CODE_HOST_LOST, "the job has begun without it");
    if (!b->lost && m->phase != PHASE_GATHERING)
        return error_set(err, EXIT_CODE_NOT_READY, "attempt %u still includes that host",
                         m->attempt.number);
    int known = parse(m, message, run, &quorum, err);
    if (known < 0)
        return -1;
    if (known > 0 && strcmp(run, m->s.host.run) != 0)
        return error_set(err, EXIT_CODE_HOST_LOST, "it was part of another run of this job");
    return 0;
}

/* Refuses the host for good and frees its link. */
static void refuse(struct member *b, const struct error *why) {
    struct error error = {0};
    (void)error_set(&error, EXIT_CODE_HOST_LOST, "the job continues without it: %.400s", why->text);
    log_warning("%s was refused: %s", member_name(b), error.text);
    master_refuse(b->link, FRAME_VERSION, &error);
    b->link = NULL;
}

/* A waiting host answers heartbeats, so that its silence is noticed, and may send its join anew.
 * Everything else is ignored. A join with a fault, or from another image, ends the waiting for
 * good. */
void rejoin_receive(struct member *b, const json_t *message) {
    struct error fault = {0};
    if (message_kind(message) == MESSAGE_ALIVE)
        lease_alive(b, message);
    if (message_kind(message) != MESSAGE_JOIN)
        return;
    json_decref(b->pending_join);
    b->pending_join = json_incref((json_t *)(uintptr_t)message);
    join_clocks(b, message);
    join_weigh(b, message, &fault);
    if (fault.code != 0)
        refuse(b, &fault);
    else
        master_raise_about(b, EVENT_HOST_REJOINED, NULL);
}

/* MESSAGE is the join that came as the first message, and is handled last, as any later one. Clock
 * differences are measured anew over the new link. */
void rejoin_meet(struct member *b, struct link *link, const struct net_address *peer,
                 const json_t *message) {
    struct master *m = b->master;
    link_free(b->link); /* the old link of a host that waited or took part and is silent */
    if (m->phase == PHASE_GATHERING)
        join_left(b);
    json_decref(b->pending_join);
    b->pending_join = NULL;
    b->link = link;
    b->address = *peer;
    b->is_standby = true;
    b->trip = 0;
    link_own(link, m->accept.events, b);
    link_set_silence(link, m->s.job->settings.dead_seconds);
    member_heard(b);
    link_send(link, master_greeting(m, MESSAGE_STANDBY));
    lease_greet(b);
    log_info("%s is back, and waits for the next attempt", member_name(b));
    event_log_put(&m->s.event_log, EVENT_LOG_BACK, json_pack("{s:s}", "which", member_name(b)));
    rejoin_receive(b, message);
}

/* Returns true if the host fits into attempt NUMBER. QUORUM learns what the host knows, if this
 * master has a quorum by that, too. Without failover every waiting host with a join fits, and with
 * it one that was restarted and knows nothing. */
static bool fits(const struct member *b, unsigned number, struct quorum *quorum) {
    const struct master *m = b->master;
    char run[ATTEMPT_RUN_SIZE];
    struct quorum theirs;
    struct quorum both = *quorum;
    if (!member_is_standby(b) || b->pending_join == NULL)
        return false;
    if (!role_state_is_on(m->s.role_state) || parse(m, b->pending_join, run, &theirs, NULL) <= 0)
        return true;
    quorum_learn(&both, &theirs);
    if (quorum_last(&theirs)->number >= number || !lease_allows(m, &both))
        return false;
    *quorum = both;
    return true;
}

/* Without failover there are no views: an empty quorum, which nothing is compared with. */
static struct quorum known(const struct master *m) {
    return m->s.role_state != NULL ? m->s.role_state->quorum : (struct quorum){0};
}

/* Changes nothing: the quorum that the hosts would add to is a copy. */
size_t rejoin_count(const struct master *m) {
    struct quorum quorum = known(m);
    size_t count = 0;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        count += fits(&m->members[i], next_attempt(m), &quorum);
    return count;
}

/* The host is ready for the next attempt at once, as nothing runs there. Its vote does not count
 * before the view is accepted by all (relaunch_commit). */
static void take(struct member *b) {
    struct master *m = b->master;
    json_decref(b->pending_join);
    b->pending_join = NULL;
    b->is_standby = b->lost = b->uploaded = false;
    b->uncounted = true;
    b->cleared = m->attempt.number;
    m->join.count += !b->joined;
    b->joined = true;
    link_send(b->link, master_greeting(m, MESSAGE_WELCOME));
    log_info("%s is one of the next attempt's hosts", member_name(b));
}

/* Hosts are taken in order, and each adds what it knows to the quorum that the next one is measured
 * by. */
void rejoin_take(struct master *m) {
    struct quorum quorum = known(m);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (fits(&m->members[i], m->attempt.number, &quorum))
            take(&m->members[i]);
    if (m->s.role_state != NULL)
        m->s.role_state->quorum = quorum;
}

/* The refusal names the leader if one is known. The code lets the host ask again. */
static void send_on(struct member *b) {
    struct error why = {0};
    if (leader_query_elsewhere(b->master, &why) == 0)
        (void)error_set(&why, EXIT_CODE_NOT_READY, "it no longer leads a job");
    master_refuse(b->link, FRAME_VERSION, &why);
    b->link = NULL;
    join_left(b);
}

void rejoin_redirect(struct master *m) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].link != NULL && (m->leader_query.leader > 0 || m->members[i].is_standby))
            send_on(&m->members[i]);
}

void rejoin_ask(struct master *m) {
    const size_t leader = m->leader_query.leader;
    struct role_state *s = m->s.role_state;
    s->back = true;
    s->anew = leader > 0;
    s->turn = m->s.job->cluster.hosts[leader].place;
    supervisor_follow(&m->s);
}
