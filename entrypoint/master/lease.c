#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "master/master.h"
#include "wire/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEAT_SECONDS = 3, DEAD_SECONDS = 10 };

static void beat(void *context) {
    struct master *m = context;
    json_t *message = frame_new("beat");
    (void)json_object_set_new(message, "time", json_integer(clock_boot()));
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
    loop_after(&m->s.loop, &m->beat, BEAT_SECONDS * CLOCK_SECOND);
}

void lease_heard(struct member *b) {
    b->heard = clock_now();
}

bool lease_is_fresh(const struct member *b) {
    return b->link != NULL && clock_now() - b->heard < (BEAT_SECONDS + 1) * CLOCK_SECOND;
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
    int64_t trip = now - sent + 1;
    if (b->trip != 0 && trip >= b->trip)
        return;
    b->trip = trip;
    b->offset = theirs - (sent + trip / 2);
}

void lease_lost(struct member *b, const char *why) {
    struct master *m = b->master;
    if (b->lost || (m->phase != MASTER_RUNNING && m->phase != MASTER_CLEARING))
        return;
    b->lost = true;
    log_error("%s is lost: %s", supervisor_host_name(&m->s, b->index), why);
    if (m->phase == MASTER_CLEARING) {
        relaunch_lost(b, why);
        return;
    }
    m->attempt.losses[m->attempt.loss_count++] =
        (struct verdict_loss){.host = (unsigned)b->index, .time = clock_boot(), .why = strdup(why)};
    launch_agent_leave(b, EXIT_CODE_HOST_LOST);
    collect_host_lost(m);
}

static void silent(struct member *b) {
    char why[64];
    (void)snprintf(why, sizeof(why), "no heartbeat for %d s", DEAD_SECONDS);
    link_free(b->link);
    b->link = NULL;
    if (b->master->phase == MASTER_JOINING)
        join_left(b);
    else if (b->master->phase == MASTER_JUDGED)
        supervisor_may_leave(&b->master->s);
    else
        lease_lost(b, why);
}

/* When this container itself stood still, the hosts get a new chance: what they sent meanwhile lies
 * unread. */
static void look(void *context) {
    struct master *m = context;
    int64_t now = clock_now();
    int64_t first = now;
    bool stood_still = now - m->lease.deadline > CLOCK_SECOND;
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (b->link == NULL)
            continue;
        if (stood_still)
            b->heard = now;
        if (now - b->heard >= DEAD_SECONDS * CLOCK_SECOND)
            silent(b);
        else if (b->heard < first)
            first = b->heard;
    }
    loop_at(&m->s.loop, &m->lease, first + DEAD_SECONDS * CLOCK_SECOND);
}

void lease_open(struct master *m) {
    m->beat = (struct timer){.fire = beat, .context = m};
    m->lease = (struct timer){.fire = look, .context = m};
    if (m->s.job->cluster.count == 1)
        return;
    loop_after(&m->s.loop, &m->beat, BEAT_SECONDS * CLOCK_SECOND);
    loop_after(&m->s.loop, &m->lease, DEAD_SECONDS * CLOCK_SECOND);
}

void lease_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->beat);
    loop_cancel(&m->s.loop, &m->lease);
}
