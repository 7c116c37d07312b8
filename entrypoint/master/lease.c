#include "master/lease.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "wire/frame.h"

#include <stdio.h>

enum { DEAD_SECONDS = SUCCESSION_LEASE_SECONDS };

/* Between the first look and the last one: what lies here is read meanwhile. */
static const int64_t again = 50 * CLOCK_MILLISECOND;

static void beat(void *context) {
    struct master *m = context;
    json_t *message = frame_new("beat");
    (void)json_object_set_new(message, "time", json_integer(clock_boot()));
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
    loop_after(&m->s.loop, &m->lease.beat, BEAT_SECONDS * CLOCK_SECOND);
}

/* Of all heartbeats the fastest tells the difference of the clocks best. */
void lease_alive(struct member *b, const json_t *message) {
    int64_t sent = 0;
    int64_t theirs = 0;
    int64_t now = clock_boot();
    if (json_member_int(message, "alive", "echo", &sent, NULL) != 0 ||
        json_member_int(message, "alive", "time", &theirs, NULL) != 0 || sent <= 0 || sent > now ||
        theirs < 0 || theirs > RANK_REPORT_TIME_MAX)
        return;
    if (sent > b->echoed)
        b->echoed = sent;
    int64_t trip = now - sent + 1;
    if (b->trip != 0 && trip >= b->trip)
        return;
    b->trip = trip;
    b->offset = theirs - (sent + trip / 2);
}

void lease_lose(struct member *b, const char *why) {
    b->lost = true;
    b->master->lease.last_loss = clock_now();
    log_error("%s is lost: %s", member_name(b), why);
    journal_put(&b->master->s.journal, RECORD_HOST_LOST,
                json_pack("{s:s, s:o}", "which", member_name(b), "why", record_text(why)));
    attempt_lose(&b->master->attempt, b->index, clock_boot(), why);
}

static void silent(struct member *b) {
    char why[64];
    (void)snprintf(why, sizeof(why), "no heartbeat for %d s", DEAD_SECONDS);
    link_free(b->link);
    b->link = NULL;
    master_raise_about(b, EVENT_HOST_GONE, why);
}

/* When this container itself stood still, the hosts get a new chance: what they sent meanwhile lies
 * unread. It may have done so for less than can be told, so that nobody is lost by one look alone.
 * Where all answer, the next look rides along with a heartbeat. */
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
        const bool unheard = now - b->heard >= DEAD_SECONDS * CLOCK_SECOND;
        if (unheard && b->doubted)
            silent(b);
        else if (!unheard && b->heard < first)
            first = b->heard;
        doubts |= unheard && !b->doubted;
        b->doubted = unheard;
    }
    if (doubts)
        loop_after(&m->s.loop, &m->lease.look, again);
    else
        loop_within(&m->s.loop, &m->lease.look, first + DEAD_SECONDS * CLOCK_SECOND - now);
}

/* Of the attempt's hosts those that had not gone over to another master a lease ago. */
static struct host_set heard(const struct master *m) {
    struct host_set set = {0};
    int64_t since = clock_boot() - DEAD_SECONDS * CLOCK_SECOND;
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        if (i == 0 || (!b->lost && b->echoed >= since))
            host_set_add(&set, m->s.job->cluster.hosts[i].place);
    }
    return set;
}

bool lease_is_out(const struct master *m) {
    bool acts =
        m->phase == PHASE_RUNNING || m->phase == PHASE_CLEARING || m->phase == PHASE_UPLOADING;
    if (!succession_is_on(m->s.succession) || !acts)
        return false;
    const struct host_set set = heard(m);
    return !ledger_allows(&m->s.succession->ledger, &set);
}

size_t lease_heard(const struct master *m) {
    const struct host_set set = heard(m);
    return host_set_common(&set, &ledger_last(&m->s.succession->ledger)->hosts);
}

void lease_begin(struct master *m, int64_t since) {
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (!m->members[i].lost && since > m->members[i].echoed)
            m->members[i].echoed = since;
}

static void look_at_own(void *context) {
    struct master *m = context;
    if (lease_is_out(m))
        master_raise(m, EVENT_OUT);
    else if (m->phase != PHASE_JUDGED)
        loop_after(&m->s.loop, &m->lease.out, CLOCK_SECOND);
}

void lease_open(struct master *m) {
    m->lease.out = (struct timer){.fire = look_at_own, .context = m};
    if (succession_is_on(m->s.succession))
        loop_after(&m->s.loop, &m->lease.out, CLOCK_SECOND);
    m->lease.beat = (struct timer){.fire = beat, .context = m};
    m->lease.look = (struct timer){.fire = look, .context = m};
    if (m->s.job->cluster.count == 1)
        return;
    loop_after(&m->s.loop, &m->lease.beat, BEAT_SECONDS * CLOCK_SECOND);
    loop_within(&m->s.loop, &m->lease.look, DEAD_SECONDS * CLOCK_SECOND);
}

void lease_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->lease.out);
    loop_cancel(&m->s.loop, &m->lease.beat);
    loop_cancel(&m->s.loop, &m->lease.look);
}
