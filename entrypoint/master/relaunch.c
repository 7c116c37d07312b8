#include "entrypoint/master/relaunch.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/job/cluster/seats.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/outcome/restart.h"
#include "entrypoint/wire/message.h"

/* Between two attempts the master passes these steps. All hosts are ordered to end what is left
 * (relaunch_clear), and each says when it is ready (relaunch_cleared). Meanwhile the pause between
 * attempts runs, and the fence of hosts that were lost. When all three are over, CLEANUP_DONE leads
 * to relaunch_next(), which gives the lost hosts' places to spares and announces the attempt.
 *
 * A second round follows if failover is on: each host accepts the new view before any rank starts
 * (relaunch_begun), and then learns that all others have, too (relaunch_commit). Only then can a
 * part of the hosts continue without the rest and never run twice.
 *
 * Each round has CLEAR_SECONDS. A host that is not done by then counts as lost. */

/* Time for every host to end what the failed attempt left and to report that it is ready. */
enum { CLEAR_SECONDS = 30 };

/* Describes the attempt for the log tail, with its verdict. */
static struct restart_facts facts(const struct master *m, unsigned attempt) {
    return (struct restart_facts){.cluster = &m->s.job->cluster,
                                  .verdict = &m->failed,
                                  .attempt = attempt,
                                  .hosts_left = master_hosts_left(m),
                                  .host_lost = true,
                                  .followed = role_state_is_on(m->s.role_state),
                                  .between = true,
                                  .stop_host = -1};
}

/* Sets the verdict; the caller raises what follows from it. */
void relaunch_end(struct master *m, const struct error *error, size_t host, unsigned attempt,
                  const char *why) {
    const struct restart_facts about = facts(m, attempt);
    restart_end_between(&m->s.job->settings, &about, error, (int)host, why, &m->verdict);
}

/* The pause runs while hosts clean up, so that it delays the next attempt only if it is the longer
 * of both. */
void relaunch_clear(struct master *m) {
    master_send_all(m, message_new(MESSAGE_CLEAR));
    loop_after(&m->s.loop, &m->relaunch.pause, m->relaunch.wait);
    loop_after(&m->s.loop, &m->relaunch.deadline, CLEAR_SECONDS * CLOCK_SECOND);
}

/* Nothing may run twice: a lost host may have heard this master until a moment ago, and ends by
 * itself. */
static int64_t rest_of_fence(const struct master_lease *l) {
    return l->fence - clock_boot();
}

static bool is_late(const struct member *b) {
    return !b->lost && b->cleared != b->master->attempt.number;
}

/* Called after each step that may have been the last. The rest of the fence becomes another pause.
 * It is read each time, since the loss of one more host in this phase moves it. */
static void go_on_if_ready(struct master *m) {
    if (m->phase != PHASE_CLEARING || m->relaunch.pause.active)
        return;
    if (rest_of_fence(&m->lease) > 0) {
        loop_after(&m->s.loop, &m->relaunch.pause, rest_of_fence(&m->lease));
        return;
    }
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (is_late(&m->members[i]))
            return;
    loop_cancel(&m->s.loop, &m->relaunch.deadline);
    master_raise(m, EVENT_CLEANUP_DONE);
}

static void pause_over(void *context) {
    go_on_if_ready(context);
}

static bool has_not_begun(const struct member *b) {
    return !b->lost && b->begun != b->master->attempt.number;
}

/* Hosts that do not accept the view in time are lost. */
static void lose_silent(struct master *m) {
    unsigned number = m->attempt.number;
    for (size_t i = 1; i < m->s.job->cluster.count && m->attempt.number == number; i++) {
        struct member *b = &m->members[i];
        if (m->phase != PHASE_RUNNING || !has_not_begun(b))
            continue;
        link_free(b->link);
        b->link = NULL;
        master_raise_about(b, EVENT_HOST_GONE, "it did not take part in the attempt in time");
    }
}

/* Serves both rounds: silent hosts are lost in PHASE_RUNNING, late ones fail their cleanup in
 * PHASE_CLEARING. Raising changes the phase or the attempt, so both are compared again at every
 * step. */
static void deadline_passed(void *context) {
    struct master *m = context;
    lose_silent(m);
    for (size_t i = 0; i < m->s.job->cluster.count && m->phase == PHASE_CLEARING; i++)
        if (is_late(&m->members[i]))
            master_raise_about(&m->members[i], EVENT_CLEANUP_FAILED,
                               "it did not end the last attempt's processes in time");
}

/* A message with a fault means that the host is not fit for the next attempt. The number that is
 * noted keeps its word from counting for a later one. */
void relaunch_cleared(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const char *fault = NULL;
    (void)json_member_string(message, "cleared", "fault", &fault, NULL);
    if (m->phase != PHASE_CLEARING || b->lost)
        return;
    if (fault != NULL) {
        master_raise_about(b, EVENT_CLEANUP_FAILED, fault);
        return;
    }
    b->cleared = m->attempt.number;
    go_on_if_ready(m);
}

/* This host is not fit for another attempt and leaves. The others lose it, and follow another one.
 * EXIT_CODE_DEVICE is this host's own end; the job continues under another master. */
static void hand_over(struct master *m, const char *why) {
    (void)error_set(&m->fault, EXIT_CODE_DEVICE, "%s; this host leaves the job to the others", why);
    m->fault_host = 0;
    master_raise(m, EVENT_UNFIT);
}

/* Without failover the job cannot do without the master itself. There are three outcomes. If the
 * rules of restarts allow another attempt without the host, the cleanup continues. If the host is
 * this one and the others can follow another master, it leaves. Otherwise the job ends with the
 * loss as its reason. */
void relaunch_decide_on_loss(struct member *b, const char *why) {
    struct master *m = b->master;
    struct error err = {0};
    struct restart_decision decision;
    const struct restart_facts about = facts(m, m->attempt.number - 1);
    restart_decide(&m->s.job->settings, &about, &decision);
    if (b->index > 0 && decision.again) {
        go_on_if_ready(m);
        return;
    }
    if (b->index == 0 && decision.again && about.followed) {
        hand_over(m, why);
        return;
    }
    (void)error_set(&err, EXIT_CODE_HOST_LOST, "lost between two attempts: %s", why);
    relaunch_end(m, &err, b->index, about.attempt, b->index > 0 ? decision.why : "");
    master_raise(m, EVENT_ENDED);
}

/* If the job has ended because of it, it receives the verdict like the others. Only while the
 * cleanup continues: the link of a host that is not ready is closed, as it counts as lost. */
void relaunch_disconnect(struct member *b) {
    if (b->master->phase != PHASE_CLEARING)
        return;
    link_free(b->link);
    b->link = NULL;
}

/* Sends an order to the attempt's hosts. This host gets it at once, not through the queue: its
 * ranks may start before the queue is read. */
static void send_hosts(struct master *m, json_t *order) {
    executor_order(&m->s.host, order);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (!m->members[i].lost)
            master_send(m, i, json_incref(order));
    json_decref(order);
}

/* WAITED says which hosts were spares before. A job may run with fewer ranks where no spare is
 * left; the warning tells how many places are empty. */
static void log_seats(const struct cluster *c, const bool *waited) {
    for (size_t i = 0; i < c->count; i++)
        if (waited[i] && cluster_has_ranks(&c->hosts[i]))
            log_info("%s, which was a spare, runs ranks %zu to %zu now", c->hosts[i].name.text,
                     cluster_first_rank(c, i), cluster_first_rank(c, i) + c->hosts[i].slots - 1);
    if (seats_spares_left(c) > 0 || cluster_hosts_left(c) == seats_count(c))
        log_info("%zu spare%s left", seats_spares_left(c), STR_PLURAL(seats_spares_left(c)));
    else
        log_warning("no spare is left for %zu of %zu places",
                    seats_count(c) - cluster_hosts_left(c), seats_count(c));
}

/* Decides which hosts run ranks. mpirun gives the first ranks to the host that it runs on. The
 * order carries the seats, so that all hosts number the ranks alike, and the address of the first
 * rank's host if it is not this one. */
static void take_seats(struct master *m, json_t *order) {
    struct cluster *c = &m->s.job->cluster;
    bool waited[CLUSTER_HOSTS_MAX];
    char address[NET_ADDRESS_TEXT];
    if (c->spares == 0)
        return;
    for (size_t i = 0; i < c->count; i++)
        waited[i] = c->hosts[i].spare;
    seats_fill(c, m->s.job->launcher.kind != LAUNCHER_DIRECT);
    log_seats(c, waited);
    size_t first = cluster_host_of_rank(c, 0);
    (void)json_object_set_new(order, "seats", seats_json(c));
    if (first == 0)
        return;
    net_address_text(&c->hosts[first].address, address);
    (void)json_object_set_new(order, "first", json_string(address));
}

/* Lost hosts are dropped from the cluster first, as seats, ranks and the launcher's host list all
 * follow from what is left. The order tells every host the number, the hosts that are gone, and the
 * progress and account of the job so far, which a host needs to take over. On failure LAUNCH_FAILED
 * follows (dispatch.c). */
int relaunch_next(struct master *m, struct error *err) {
    json_t *order = message_new(MESSAGE_ATTEMPT);
    json_t *gone = json_array();
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        m->s.job->cluster.hosts[i].gone = false;
        if (m->members[i].lost) {
            cluster_drop(&m->s.job->cluster, i);
            (void)json_array_append_new(gone, json_integer((json_int_t)i));
        }
    }
    (void)json_object_set_new(order, "gone", gone);
    take_seats(m, order);
    (void)json_object_set_new(order, "attempt", json_integer(m->attempt.number));
    (void)json_object_set_new(order, "course", role_state_progress(&m->relaunch.progress));
    (void)json_object_set_new(order, "goodput", goodput_json(&m->goodput));
    send_hosts(m, order);
    if (role_state_is_on(m->s.role_state)) {
        lease_begin(m, clock_boot());
        loop_after(&m->s.loop, &m->relaunch.deadline, CLEAR_SECONDS * CLOCK_SECOND);
    }
    return attempt_open(&m->attempt, m->attempt.number, &m->s.job->cluster, err);
}

/* Only with failover. An attempt that is ending already, for a host lost meanwhile, is not launched
 * any more. */
void relaunch_begun(struct member *b) {
    struct master *m = b->master;
    if (b->lost || b->begun == m->attempt.number)
        return;
    b->begun = m->attempt.number;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (has_not_begun(&m->members[i]))
            return;
    loop_cancel(&m->s.loop, &m->relaunch.deadline);
    if (!m->attempt.ending)
        master_raise(m, EVENT_VIEW_ACCEPTED);
}

/* This host first: from here on the master acts by the view. Hosts that were readmitted count for
 * the quorum from here on. */
void relaunch_commit(struct master *m) {
    json_t *order = message_new(MESSAGE_VIEW_COMMITTED);
    (void)json_object_set_new(order, "addresses", role_state_addresses(&m->s.job->cluster));
    (void)json_object_set_new(order, "attempt", json_integer(m->attempt.number));
    send_hosts(m, order);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        m->members[i].uncounted = false;
}

void relaunch_init(struct master *m) {
    m->relaunch.pause = (struct timer){.fire = pause_over, .context = m};
    m->relaunch.deadline = (struct timer){.fire = deadline_passed, .context = m};
}

void relaunch_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->relaunch.pause);
    loop_cancel(&m->s.loop, &m->relaunch.deadline);
}
