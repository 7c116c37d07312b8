#include "entrypoint/master/members/lease.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/outcome/fence.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>

/* Each heartbeat carries the time at which it was sent, and the answer repeats it. So an answer
 * proves that its host had not given this master up at that time, however long it was on its way.
 * That time, and not the time of arrival, is kept in last_ack. Leases are counted on clock_boot(),
 * which continues while a machine sleeps.
 *
 * Two watches build on that. look() finds hosts that have been silent for a lease; they are lost.
 * With failover watch_own() finds out when too few answers are left for this host to lead
 * (lease_is_out). The others may have chosen another master by then, so nothing may continue here.
 *
 * Silence is measured by any message (heard), on clock_now(); the right to lead only by answers to
 * heartbeats. */

/* Time between the first and the last check; what is queued here is read meanwhile. */
static const int64_t again = 50 * CLOCK_MILLISECOND;

/* All hosts answer at almost the same time: the answers wake this host once if nothing else is
 * going on. */
static const int64_t answers = 50 * CLOCK_MILLISECOND;

/* Returns how long an answer counts. */
static int64_t lease_of(const struct master *m) {
    return settings_dead(&m->s.job->settings);
}

/* Returns true if the host had not switched to another master at SINCE and remembers the views that
 * it has accepted. While hosts gather after a failover there are no heartbeats to count yet: to
 * have connected is enough. */
static bool is_heard(const struct member *b, int64_t since) {
    if (b->master->phase == PHASE_GATHERING)
        return b->joined;
    return b->index == 0 || (!b->lost && !b->uncounted && b->last_ack >= since);
}

struct host_set lease_hosts(const struct master *m) {
    struct host_set set = {0};
    int64_t since = clock_boot() - lease_of(m);
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (is_heard(&m->members[i], since))
            host_set_add(&set, m->s.job->cluster.hosts[i].place);
    return set;
}

/* Hosts are counted by their places, which stay the same when hosts are dropped from the cluster.
 */
bool lease_allows(const struct master *m, const struct quorum *quorum) {
    const struct host_set set = lease_hosts(m);
    unsigned place = (unsigned)m->s.job->cluster.hosts[0].place;
    return quorum_allows_on(quorum, &set, place, m->first);
}

/* Always false without failover, where no other host can lead, and in phases in which nothing is
 * led yet. */
bool lease_is_out(const struct master *m) {
    bool acts =
        m->phase == PHASE_RUNNING || m->phase == PHASE_CLEARING || m->phase == PHASE_UPLOADING;
    if (!role_state_is_on(m->s.role_state) || !acts)
        return false;
    return !lease_allows(m, &m->s.role_state->quorum);
}

/* Returns when the first answer expires, unless its host answers again; 0 if no answer counts. One
 * more ns than the lease, as an answer counts to its very end. */
static int64_t next_silence(const struct master *m) {
    int64_t since = clock_boot() - lease_of(m);
    int64_t first = 0;
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        if (!b->lost && b->last_ack >= since && (first == 0 || b->last_ack < first))
            first = b->last_ack;
    }
    return first == 0 ? 0 : first + lease_of(m) + 1;
}

/* Heartbeats postpone it again and again: it fires when answers are missing, or at once. */
static void watch_own(struct master *m) {
    boot_timer_set(&m->lease.out, lease_is_out(m) ? clock_boot() : next_silence(m));
}

/* The time in it is this host's, and comes back unchanged. */
static json_t *beat_now(void) {
    return message_with(MESSAGE_BEAT, json_pack("{s:I}", "time", (json_int_t)clock_boot()));
}

/* Returns true if ranks run, no stop was requested and no answer is missing. With failover all is
 * read at once: the kernel resets the connections of a process that is killed with something
 * unread, and its end then proves nothing (outcome/fence.h). */
static bool is_calm(const struct master *m) {
    const struct attempt *a = &m->attempt;
    return !role_state_is_on(m->s.role_state) && !m->lease.doubts && m->phase == PHASE_RUNNING &&
           attempt_all_started(a) && !a->failed && !a->ending && a->stop_asked == 0 &&
           a->report_count == 0;
}

void lease_ask(struct master *m) {
    json_t *message = beat_now();
    /* without memory for it no link is closed: the next heartbeat comes soon */
    for (size_t i = 1; message != NULL && i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
}

/* In a calm job the loop rests after sending, so that all answers are read in one wake-up
 * (loop_rest). */
static void beat(void *context) {
    struct master *m = context;
    lease_ask(m);
    if (is_calm(m)) {
        master_flush(m);
        loop_rest(&m->s.loop, answers);
    }
    watch_own(m);
    loop_after(&m->s.loop, &m->lease.beat,
               settings_beat(&m->s.job->settings, m->s.job->cluster.count));
}

/* This host and lost ones never keep others waiting. */
bool lease_answered(const struct member *b, int64_t since) {
    return b->index == 0 || b->lost || b->last_ack >= since;
}

static bool all_answered(const struct master *m, int64_t since) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (!lease_answered(&m->members[i], since))
            return false;
    return true;
}

/* The question is asked once, however often the caller asks; note_answer() raises the event. */
bool lease_is_sure(struct master *m) {
    if (all_answered(m, clock_boot() - lease_of(m) / 2)) {
        m->lease.asked = 0;
        return true;
    }
    if (m->lease.asked == 0) {
        m->lease.asked = clock_boot();
        lease_ask(m);
    }
    return false;
}

/* A host that is asked again answers what was sent since, so that no answer is too old. */
static void note_answer(struct master *m) {
    if (m->lease.asked == 0 || !all_answered(m, m->lease.asked))
        return;
    m->lease.asked = 0;
    master_raise(m, EVENT_ALL_ANSWERED);
}

/* The fastest heartbeat gives the best estimate of the clock difference. An echo from the future,
 * or none, is not of this master: it is ignored. The offset assumes that both ways take equally
 * long, so that the error is half of the trip at most. That is why only the shortest trip so far
 * counts. */
void lease_alive(struct member *b, const json_t *message) {
    int64_t sent = 0;
    int64_t theirs = 0;
    int64_t now = clock_boot();
    if (json_member_int(message, "alive", "echo", &sent, NULL) != 0 ||
        json_member_int(message, "alive", "time", &theirs, NULL) != 0 || sent <= 0 || sent > now ||
        theirs < 0 || theirs > RANK_REPORT_TIME_MAX)
        return;
    if (sent > b->last_ack)
        b->last_ack = sent;
    int64_t trip = now - sent + 1;
    if (b->trip == 0 || trip < b->trip) {
        b->trip = trip;
        b->offset = theirs - (sent + trip / 2);
    }
    note_answer(b->master);
}

/* The answer is read as soon as it is here, unlike later ones, as it sets the clock difference. */
void lease_greet(struct member *b) {
    master_send(b->master, b->index, beat_now());
}

/* Silent for a lease, or its link has broken: without failover these differ in what the host may
 * still have heard. */
static int64_t fence_of(const struct member *b) {
    const struct master *m = b->master;
    const int64_t beat = settings_beat(&m->s.job->settings, m->s.job->cluster.count);
    if (role_state_is_on(m->s.role_state))
        return fence_of_host(clock_boot(), lease_of(m), b->exited);
    return fence_without_failover(clock_boot(), beat, clock_now() - b->heard >= lease_of(m));
}

/* The fence only ever moves on: of several lost hosts the last one counts. */
void lease_lose(struct member *b, const char *why) {
    struct master *m = b->master;
    const int64_t fence = fence_of(b);
    b->lost = true;
    b->exited = false;
    m->lease.fence = fence > m->lease.fence ? fence : m->lease.fence;
    log_error("%s is lost: %s", member_name(b), why);
    event_log_host_lost(&m->s.event_log, member_name(b), why);
    attempt_lose(&m->attempt, b->index, clock_boot(), why);
    watch_own(m);
}

/* No fence and no loss in the attempt. */
void lease_drop_spare(struct member *b, const char *why) {
    struct master *m = b->master;
    b->lost = true;
    b->exited = false;
    log_warning("%s, a spare, is lost: %s", member_name(b), why);
    event_log_host_lost(&m->s.event_log, member_name(b), why);
    watch_own(m);
    note_answer(m);
}

/* The link is freed before the event, which finds the host without one. */
static void silent(struct member *b) {
    char why[64];
    (void)snprintf(why, sizeof(why), "no heartbeat for %lld s",
                   (long long)b->master->s.job->settings.dead_seconds);
    link_free(b->link);
    b->link = NULL;
    master_raise_about(b, EVENT_HOST_GONE, why);
}

/* If this container itself was paused, the hosts get a second chance: what they sent meanwhile is
 * still unread. A short pause may go unnoticed, so that one check alone never loses a host. If all
 * answer, the next check coincides with a heartbeat. */
static void look(void *context) {
    struct master *m = context;
    int64_t now = clock_now();
    int64_t first = now;
    bool doubts = false;
    bool stood_still = now - m->lease.look.deadline > CLOCK_SECOND;
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (b->link == NULL)
            continue;
        if (stood_still)
            b->heard = now;
        const bool unheard = now - b->heard >= lease_of(m);
        if (unheard && b->doubted)
            silent(b);
        else if (!unheard && b->heard < first)
            first = b->heard;
        doubts |= unheard && !b->doubted;
        b->doubted = unheard;
    }
    m->lease.doubts = doubts;
    if (doubts) {
        loop_rest(&m->s.loop, 0); /* which may have begun a moment ago */
        loop_after(&m->s.loop, &m->lease.look, again);
    } else {
        loop_within(&m->s.loop, &m->lease.look, first + lease_of(m) - now);
    }
}

size_t lease_heard(const struct master *m) {
    const struct host_set set = lease_hosts(m);
    return host_set_common(&set, &quorum_last(&m->s.role_state->quorum)->hosts);
}

/* Never moves an answer back that has come since. */
void lease_begin(struct master *m, int64_t since) {
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (!m->members[i].lost && since > m->members[i].last_ack)
            m->members[i].last_ack = since;
    watch_own(m);
}

static void look_at_own(void *context) {
    struct master *m = context;
    if (lease_is_out(m))
        master_raise(m, EVENT_QUORUM_LOST);
    else
        watch_own(m);
}

/* A single host sends no heartbeats. The boot timer is opened with failover alone. */
int lease_open(struct master *m, struct error *err) {
    if (role_state_is_on(m->s.role_state) &&
        boot_timer_open(&m->lease.out, &m->s.loop, look_at_own, m, err) != 0)
        return -1;
    m->lease.beat = (struct timer){.fire = beat, .context = m};
    m->lease.look = (struct timer){.fire = look, .context = m};
    if (m->s.job->cluster.count == 1)
        return 0;
    loop_after(&m->s.loop, &m->lease.beat,
               settings_beat(&m->s.job->settings, m->s.job->cluster.count));
    loop_within(&m->s.loop, &m->lease.look, lease_of(m));
    return 0;
}

void lease_close(struct master *m) {
    boot_timer_close(&m->lease.out);
    loop_cancel(&m->s.loop, &m->lease.beat);
    loop_cancel(&m->s.loop, &m->lease.look);
}
