#include "entrypoint/master/failover/takeover.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/outcome/fence.h"

#include <limits.h>
#include <string.h>

/* A host that takes over knows only the views that it has accepted itself. The hosts that connect
 * to it bring theirs (takeover_admit), and after each of them takeover_check_quorum() asks two
 * questions. Do the hosts that are here have a quorum by all views together? And can nothing of the
 * old attempt run any more? The first depends on the hosts, the second on time: the fence in
 * outcome/fence.c says when.
 *
 * If the answer is not yes in time, this host gives up, and asks others to readmit it or ends
 * (GATHERING in phase.c). It never launches on a guess: two masters with ranks of one job would
 * write the same checkpoints. */

/* Added to two leases: the longest time to wait for a quorum. */
static const int64_t give_up = 25 * CLOCK_SECOND;

static int64_t lease_of(const struct master *m) {
    return settings_dead(&m->s.job->settings);
}

/* Returns true if SET has all hosts of the last attempt but its master. */
static bool is_everybody(const struct master *m, const struct host_set *set) {
    const struct view *last = quorum_last(&m->s.role_state->quorum);
    return host_set_common(&last->hosts, set) + 1 == host_set_count(&last->hosts) &&
           !host_set_has(set, last->master);
}

/* Returns when nothing can run elsewhere any more. The end of the old master's container shortens
 * the wait only if each host of SET has seen it, and the latest of these times counts. */
static int64_t due(const struct master *m, const struct host_set *set) {
    struct fence_master facts = {.lease = lease_of(m),
                                 .heard = m->takeover.heard,
                                 .opened = m->takeover.opened,
                                 .complete = is_everybody(m, set),
                                 .exited = true};
    const size_t master = quorum_last(&m->s.role_state->quorum)->master;
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        if (!host_set_has(set, m->s.job->cluster.hosts[i].place))
            continue;
        facts.exited = facts.exited && b->saw_exit.seen && b->saw_exit.place == master;
        if (b->saw_exit.at > facts.ended)
            facts.ended = b->saw_exit.at;
    }
    return fence_of_master(&facts);
}

/* The quorum is counted over the hosts that follow; hosts that wait take part in the next attempt,
 * too. */
static bool is_enough(const struct master *m) {
    return lease_allows(m, &m->s.role_state->quorum) &&
           (int64_t)(m->join.count + rejoin_count(m)) >= m->s.job->settings.min_hosts;
}

/* The timer fires again when the fence ends, or when this host has to give up, whichever comes
 * first; in between only a new host can change the answer. Does nothing before this host has what
 * it needs itself. */
void takeover_check_quorum(struct master *m) {
    const struct host_set set = lease_hosts(m);
    int64_t now = clock_boot();
    int64_t at = due(m, &set);
    int64_t end = m->takeover.opened + 2 * lease_of(m) + give_up;
    loop_cancel(&m->s.loop, &m->takeover.look);
    if (m->phase != PHASE_GATHERING || !m->members[0].joined)
        return;
    if (m->fault.code != 0)
        master_raise(m, EVENT_LAUNCH_FAILED);
    else if (is_enough(m) && now >= at)
        master_raise(m, EVENT_QUORUM_REACHED);
    else if (now >= end)
        master_raise(m, EVENT_QUORUM_LOST);
    else
        loop_after(&m->s.loop, &m->takeover.look, (at > now && at < end ? at : end) - now);
}

static void look(void *context) {
    takeover_check_quorum(context);
}

void takeover_init(struct master *m) {
    m->takeover.look = (struct timer){.fire = look, .context = m};
}

void takeover_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->takeover.look);
}

/* Progress and account of the job continue from what this host has kept of them. The loss of the
 * master becomes the verdict on the attempt that it led. Hosts that were gone in that attempt stay
 * lost. */
void takeover_open(struct master *m) {
    const struct role_state *s = m->s.role_state;
    struct error lost = {0};
    m->phase = PHASE_GATHERING;
    m->takeover.opened = clock_boot();
    m->takeover.heard = s->heard;
    m->relaunch.progress = s->progress;
    m->goodput = s->goodput;
    m->first = UINT_MAX; /* it has offered no view in this role */
    (void)error_set(&lost, EXIT_CODE_HOST_LOST, "the master of attempt %u was lost",
                    quorum_last(&s->quorum)->number);
    verdict_from_error(&lost, &m->s.job->cluster, -1, &m->failed);
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        m->members[i].lost = m->s.job->cluster.hosts[i].gone;
}

/* This host is the first of those that have come. */
void takeover_begin(struct master *m) {
    executor_set_run(&m->s.host, m->s.role_state->run);
    m->join.begun = true;
    m->members[0].joined = true;
    m->join.count = 1;
    m->members[0].saw_exit = m->s.role_state->saw_exit;
    host_info_gather(m->s.job, &m->s.mpi_install, &m->members[0].info);
    log_info("this host takes over from the lost master and waits for more than half of the %zu "
             "hosts of attempt %u",
             host_set_count(&quorum_last(&m->s.role_state->quorum)->hosts),
             quorum_last(&m->s.role_state->quorum)->number);
    takeover_check_quorum(m);
}

/* A fault of the host's own ends it here and not the job, unlike when hosts first join. The code
 * EXIT_CODE_HOST_LOST keeps it from asking again. */
int takeover_check(const struct master *m, size_t host, const json_t *message, struct error *err) {
    char run[ATTEMPT_RUN_SIZE];
    struct quorum quorum;
    int64_t quiet = 0;
    const json_t *known = json_object_get(message, "succession");
    const json_int_t code = json_integer_value(json_object_get(message, "fault_code"));
    const char *text = json_string_value(json_object_get(message, "fault_text"));
    if (m->members[host].lost)
        return error_set(err, EXIT_CODE_HOST_LOST, "it cannot follow this host");
    if (code > 0)
        return error_set(err, EXIT_CODE_HOST_LOST, "the job continues without it: %.256s",
                         text != NULL ? text : "a fault of its own");
    if (role_state_parse(known, m->s.job->cluster.count, run, &quorum, &quiet, err) != 0)
        return -1;
    if (strcmp(run, m->s.role_state->run) != 0)
        return error_set(err, EXIT_CODE_HOST_LOST, "it was part of another run of this job");
    return 0;
}

/* The message tells the old master's last heartbeat as a duration in ns, since clocks of two hosts
 * cannot be compared. */
void takeover_admit(struct member *b, const json_t *message) {
    struct master *m = b->master;
    char run[ATTEMPT_RUN_SIZE];
    struct quorum quorum;
    int64_t quiet = 0;
    if (role_state_parse(json_object_get(message, "succession"), m->s.job->cluster.count, run,
                         &quorum, &quiet, NULL) != 0)
        return;
    role_state_parse_exit(message, &b->saw_exit);
    int64_t heard = clock_boot() - quiet;
    if (heard > m->takeover.heard)
        m->takeover.heard = heard;
    quorum_learn(&m->s.role_state->quorum, &quorum);
    takeover_check_quorum(m);
}

/* A host that comes later has to wait as one that is back (rejoin.c). */
void takeover_end(struct master *m) {
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (!b->lost && !b->joined)
            log_warning("%s did not connect: it is lost", member_name(b));
        b->lost = b->lost || !b->joined;
    }
    lease_begin(m, clock_boot()); /* for the hosts that are here */
    loop_cancel(&m->s.loop, &m->takeover.look);
    attempt_done(&m->attempt);
    m->attempt.number = m->first = quorum_last(&m->s.role_state->quorum)->number + 1;
}
