#include "entrypoint/host/worker/master_lease.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/host/failover/master_loss.h"

#include <errno.h>
#include <stdio.h>

/* Silence after which the master is considered dead. */
static int64_t lease_of(const struct worker *w) {
    return settings_dead(&w->s.job->settings);
}

void master_lease_drop_link(struct worker *w) {
    redial_stop(&w->redial);
    link_free(w->link);
    w->link = NULL;
}

void master_lease_beat(struct worker *w) {
    if (w->s.role_state == NULL || !w->joined)
        return;
    w->s.role_state->heard = clock_boot();
    boot_timer_set(&w->late, w->s.role_state->heard + lease_of(w) + 1);
}

void master_lease_lose(struct worker *w, const char *why) {
    struct error err = {0};
    const char *alone = "";
    if (w->searches_on != NULL && w->searches_on(w, why))
        return;
    const struct master_loss loss = {.begun = w->begun,
                                     .joined = w->joined,
                                     .ordered = w->ordered,
                                     .waits = w->waits,
                                     .stopping = w->s.host.rank_set.stopping,
                                     .stop_requested = w->stopping,
                                     .absent = w->search.vain,
                                     .unfit = resource_wait_unfit(&w->s.host.resource_wait)};
    if (master_loss_may_follow(&loss, w->s.role_state, w->s.job, &alone)) {
        log_error("the master, %s, is lost: %s%s", worker_master_name(w), why, alone);
        event_log_host_lost(&w->s.event_log, worker_master_name(w), why);
        loop_cancel(&w->s.loop, &w->lease);
        boot_timer_set(&w->late, 0);
        supervisor_follow(&w->s);
        return;
    }
    master_loss_error(&loss, w->s.role_state, w->s.job, why, alone, &err);
    w->s.at_once = role_state_is_on(w->s.role_state);
    supervisor_conclude_error(&w->s, &err, loss.unfit ? (int)w->s.job->cluster.self : 0);
}

void master_lease_end(struct worker *w) {
    char why[64];
    (void)snprintf(why, sizeof(why), "no heartbeat from it for %lld s",
                   (long long)w->s.job->settings.dead_seconds);
    master_lease_drop_link(w);
    if (w->s.judged) {
        supervisor_may_leave(&w->s);
        return;
    }
    role_state_note_end(w->s.role_state, ETIMEDOUT);
    master_lease_lose(w, why);
}

bool master_lease_is_over(const struct worker *w) {
    const struct role_state *s = w->s.role_state;
    return role_state_is_on(s) && w->joined && !w->s.judged && s->heard != 0 &&
           clock_boot() - s->heard > lease_of(w);
}

/* If this container itself was paused, the master gets another lease: its messages are unread. That
 * does not hold if another host may have followed it. */
static void lease_ended(void *context) {
    struct worker *w = context;
    const struct role_state *s = w->s.role_state;
    bool stood_still = clock_now() - w->lease.deadline > CLOCK_SECOND;
    if (stood_still && (!role_state_is_on(s) || !s->begun))
        loop_after(&w->s.loop, &w->lease, lease_of(w));
    else
        master_lease_end(w);
}

/* Checks the lease in boot time, which also passes while the machine sleeps. */
static void look_at_lease(void *context) {
    struct worker *w = context;
    if (master_lease_is_over(w))
        master_lease_end(w);
}

void master_lease_init(struct worker *w) {
    w->lease = (struct timer){.fire = lease_ended, .context = w};
}

int master_lease_open(struct worker *w, struct error *err) {
    if (!role_state_is_on(w->s.role_state))
        return 0;
    return boot_timer_open(&w->late, &w->s.loop, look_at_lease, w, err);
}

void master_lease_close(struct worker *w) {
    boot_timer_close(&w->late);
}

void master_lease_begin(struct worker *w) {
    loop_after(&w->s.loop, &w->lease, lease_of(w));
}

void master_lease_stop(struct worker *w) {
    loop_cancel(&w->s.loop, &w->lease);
}
