#include "entrypoint/master/master.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/metric_matcher.h"
#include "entrypoint/master/accept.h"
#include "entrypoint/master/accounting.h"
#include "entrypoint/master/dispatch.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/master/failover/shared_dir.h"
#include "entrypoint/master/failover/takeover.h"
#include "entrypoint/master/launch.h"
#include "entrypoint/master/launch_direct.h"
#include "entrypoint/master/launch_mpirun.h"
#include "entrypoint/master/members/fetch_wait.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/pmi_exchange.h"
#include "entrypoint/master/preflight/preflight.h"
#include "entrypoint/master/ras_child.h"
#include "entrypoint/master/ras_finding.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/reports.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/master/stop.h"
#include "entrypoint/master/stragglers.h"
#include "entrypoint/master/uploads.h"
#include "entrypoint/master/verdict_delivery.h"
#include "entrypoint/wire/message.h"

#include <stdlib.h>

/* This file connects the parts: it sorts the messages of all hosts, implements the supervisor's
 * role (struct role), and opens and closes everything in order. It makes no decision; what follows
 * from an event is in phase.c.
 *
 * Messages of this host's own executor pass a queue instead of a link, and so do orders to it. A
 * message is then handled from the loop, never inside the call that sent it.
 *
 * Messages are sorted by how long they count. Output, metrics and heartbeats are taken in any
 * phase. Stops and findings of a check count until the verdict. What concerns an attempt must carry
 * its number, and most of it counts only while the attempt runs. A message of the attempt before
 * may still be on its way when the next one begins. */

/* Lines arrive in parts that fit into a message; the last part ends with '\n'. A host that could
 * not send all of its output says how many it has dropped, and the console counts them. */
static void forwarded_line(struct member *b, const json_t *message) {
    const json_t *text = json_object_get(message, "text");
    /* Output of ranks, which this host prints for all. */
    struct console *console = &b->master->s.console;
    size_t size = json_string_length(text);
    int64_t dropped = json_integer_value(json_object_get(message, "dropped"));
    if (dropped > 0)
        console_count_dropped(console, (uint64_t)dropped);
    if (size == 0)
        return;
    /* The buffer holds at most LINE_SPLITTER_MAX bytes; parts beyond that are dropped with what
     * came before. */
    if (buf_add(&b->line, json_string_value(text), size, NULL) != 0)
        b->line.size = 0; /* no line of ours is that long */
    else if (b->line.data[b->line.size - 1] == '\n') {
        console_line(console, b->line.data, b->line.size);
        b->line.size = 0;
    }
}

/* B is the host at which the stop was requested; the attempt keeps it for the verdict. */
static void ask_for_stop(struct member *b, bool again) {
    master_raise_about(b, again ? EVENT_STOP_AGAIN : EVENT_STOP, NULL);
}

/* Handles messages that count only while the attempt runs. Kinds that are unknown here are ignored.
 * Each handler checks what the message holds, and that a rank is one of the host's own. */
static void hear_running(struct member *b, enum message kind, const json_t *message) {
    switch (kind) {
    case MESSAGE_VIEW_ACCEPTED:
        relaunch_begun(b);
        break;
    /* NCCL can be asked only once ranks run; the child decides when all do. */
    case MESSAGE_RANK_STARTED:
        reports_rank_started(b, message);
        ras_child_begin(b->master);
        break;
    case MESSAGE_REPORT:
        reports_report(b, message);
        break;
    case MESSAGE_STALLED:
        reports_stalled(b, message);
        break;
    case MESSAGE_QUIET:
    case MESSAGE_BUSY:
        reports_quiet(b, message, kind == MESSAGE_QUIET);
        break;
    case MESSAGE_GATHERED:
        standing_gathered(b, message);
        break;
    case MESSAGE_OWNERS:
        ras_finding_answered(b, message);
        break;
    case MESSAGE_DAEMON:
        launch_daemon_ended(b, message);
        break;
    case MESSAGE_PAIRS:
        pmi_exchange_pairs(b, message);
        break;
    case MESSAGE_BARRIER:
        pmi_exchange_barrier(b);
        break;
    case MESSAGE_UNSTARTED:
        launch_direct_unstarted(b, message);
        break;
    default:
        break;
    }
}

/* Handles messages that belong to one attempt: late ones of the previous attempt are ignored. The
 * reports of cleanup, uploads and probes come outside a running attempt, and their handlers check
 * the phase themselves. */
static void hear_attempt(struct member *b, const json_t *message) {
    const enum message kind = message_kind(message);
    if (json_integer_value(json_object_get(message, "attempt")) != b->master->attempt.number)
        return;
    switch (kind) {
    case MESSAGE_CLEARED:
        relaunch_cleared(b, message);
        return;
    case MESSAGE_UPLOADED:
        uploads_receive(b, message);
        return;
    case MESSAGE_DIR_PROBED:
        shared_dir_receive(b, message);
        return;
    default:
        if (b->master->phase == PHASE_RUNNING)
            hear_running(b, kind, message);
    }
}

/* Handles messages that no longer count once the job is judged. Findings of a check and stops carry
 * no attempt's number. */
static void hear_unjudged(struct member *b, enum message kind, const json_t *message) {
    switch (kind) {
    case MESSAGE_EXAMINED:
        preflight_receive(b, message);
        break;
    case MESSAGE_STOP:
        ask_for_stop(b, json_is_true(json_object_get(message, "again")));
        break;
    default:
        hear_attempt(b, message);
    }
}

/* Handles the messages of every host, this one included. The quorum is checked before anything
 * else: if this container was paused, the other hosts may have another master by now, and nothing
 * that is read here may take effect. Every message proves that its host lives, whatever its kind. A
 * host that waits to be readmitted is kept apart from those of the attempt. */
static void hear(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const enum message kind = message_kind(message);
    if (lease_is_out(m))
        master_raise(m, EVENT_QUORUM_LOST);
    member_heard(b);
    if (kind == MESSAGE_HEARD && m->phase == PHASE_JUDGED) {
        verdict_delivery_heard(b);
        return;
    }
    if (member_is_standby(b)) {
        rejoin_receive(b, message);
        return;
    }
    switch (kind) {
    case MESSAGE_LINE:
        forwarded_line(b, message);
        break;
    case MESSAGE_METRIC:
        metric_matcher_receive(&m->s.host.metrics, message);
        break;
    /* One answer to a heartbeat has something for each of four parts. */
    case MESSAGE_ALIVE:
        accounting_receive(b, message);
        lease_alive(b, message);
        stragglers_receive(b, message);
        standing_receive(b, message);
        break;
    case MESSAGE_JOIN:
    case MESSAGE_FETCHING:
        join_receive(b, message);
        break;
    default:
        if (m->phase != PHASE_JUDGED)
            hear_unjudged(b, kind, message);
    }
}

static void hear_member(void *context, const json_t *message) {
    hear(context, message);
}

/* PID 1 of a container takes all its processes along, which shortens the wait before the next
 * attempt (outcome/fence.h); so it is noted before the link is freed. */
static void member_closed(void *context, const struct error *why) {
    struct member *b = context;
    b->exited = b->is_pid1 && link_peer_exited(b->link);
    link_free(b->link);
    b->link = NULL;
    master_raise_about(b, EVENT_HOST_GONE, why->text);
}

const struct link_events master_member_events = {.message = hear_member, .closed = member_closed};

/* --- the role --------------------------------------------------------------------------------- */

/* Called by fetching() or by start(), whichever comes first, and does nothing the second time. In a
 * role after the first, takeover_open() sets the phase, by which the others choose what to open. */
static int open_listener(struct master *m, struct error *err) {
    if (m->accept.open)
        return 0;
    if (role_state_knows(m->s.role_state))
        takeover_open(m);
    if (lease_open(m, err) != 0)
        return -1;
    stragglers_open(m);
    standing_open(m);
    return accept_open(m, &master_member_events, err);
}

/* Downloads have begun here: hosts may connect and say how far their own are, though none without a
 * fault is admitted yet. */
static void fetching(void *state) {
    struct master *m = state;
    struct error err = {0};
    if (open_listener(m, &err) != 0)
        supervisor_conclude_error(&m->s, &err, 0);
    else
        fetch_wait_receive(&m->members[0], &m->s.mark);
}

/* Called when this host has everything that it needs, or a fault. A master that takes over keeps
 * the run ID of the job; a first one draws it in join_begin(). */
static int begin(struct master *m, struct error *err) {
    if (m->phase != PHASE_GATHERING)
        return join_begin(m, err);
    takeover_begin(m);
    join_go_on(m);
    return 0;
}

/* A host that has led or followed before keeps a fault of its own to itself and exits, as the job
 * continues without it. In a first role the fault is the job's: all hosts join and learn of it. A
 * stop that came between two roles is repeated here, as the role before has not acted on it. */
static void start(void *state) {
    struct master *m = state;
    struct error err = {0};
    /* The job may have been judged while this host still downloaded. */
    if (m->s.judged)
        return;
    bool again = role_state_is_again(m->s.role_state);
    if (again && m->s.fault.code != 0)
        supervisor_conclude_error(&m->s, &m->s.fault, 0);
    else if (open_listener(m, &err) != 0 || begin(m, &err) != 0)
        supervisor_conclude_error(&m->s, &err, 0);
    else if (again && m->s.role_state->stopping)
        ask_for_stop(&m->members[0], false);
}

/* Called by the executor; hear_self() handles the message later, from the loop. */
static void send_message(void *state, json_t *message) {
    struct master *m = state;
    message_queue_put(&m->from_self, message);
}

/* Nothing of this host waits for a slow link. */
static size_t queued(void *state) {
    (void)state;
    return 0;
}

/* An agent of mpirun has connected to this host's control socket. */
static void agent(void *state, struct link *link, const json_t *message) {
    launch_agent(state, link, message);
}

/* A stop that reaches this container is one that its own member asks for. */
static void stop(void *state, bool again) {
    struct master *m = state;
    ask_for_stop(&m->members[0], again);
}

/* The master exits last: a closed link means that the host at the other end has exited. A host that
 * follows a lost master and has yet to come is awaited, too (verdict_delivery.h). */
static bool may_leave(void *state) {
    const struct master *m = state;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (verdict_delivery_is_expected(m, i))
            return false;
    return true;
}

/* Success that a host with a running lease has not acknowledged keeps this container, even if
 * nothing else does. */
static bool must_stay(void *state) {
    return verdict_delivery_is_owed(state);
}

/* Names of hosts need no quoting. Adds the age of each connected host's last word, in seconds. Only
 * the first sample of a name has a help text. */
static int measure_hosts(const struct master *m, struct buf *ret, struct error *err) {
    bool first = true;
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        /* A host without a link, or without a word so far, has no age. */
        const struct member *b = &m->members[i];
        char labels[HOST_NAME_SIZE + 16];
        if (b->link == NULL || b->heard == 0)
            continue;
        (void)snprintf(labels, sizeof(labels), "host=\"%s\"", member_name(b));
        /* In seconds, as OpenMetrics requires base units. */
        double age = (double)(clock_now() - b->heard) / (double)CLOCK_SECOND;
        if (openmetrics_sample(ret, "ringmaster_heartbeat_age_seconds",
                               first ? "since the host's last word" : NULL, labels, age, err) != 0)
            return -1;
        first = false;
    }
    return 0;
}

/* Says nothing as long as there are no members, which are opened after the supervisor. */
static int measure(void *state, struct buf *ret, struct error *err) {
    const struct master *m = state;
    if (m->members == NULL)
        return 0;
    if (openmetrics_sample(ret, "ringmaster_hosts", "of the job that are not lost", "",
                           (double)master_hosts_left(m), err) != 0 ||
        openmetrics_sample(ret, "ringmaster_hosts_joined", "that have joined, this one included",
                           "", (double)m->join.count, err) != 0 ||
        openmetrics_sample(ret, "ringmaster_spares", "that wait for the place of a lost host", "",
                           (double)master_spares_left(m), err) != 0 ||
        openmetrics_sample(ret, "ringmaster_ranks", "of the attempt", "", (double)m->attempt.ranks,
                           err) != 0 ||
        openmetrics_sample(ret, "ringmaster_ranks_started", "of the attempt", "",
                           (double)m->attempt.started_count, err) != 0 ||
        openmetrics_sample(ret, "ringmaster_ranks_lost", "of the attempt, which goes on", "",
                           (double)m->attempt.forgone_count, err) != 0)
        return -1;
    return accounting_measure(m, ret, err) == 0 ? measure_hosts(m, ret, err) : -1;
}

/* The supervisor calls these (struct role in host/supervisor.h); a worker has a table of its own.
 */
static const struct role role = {.fetching = fetching,
                                 .start = start,
                                 .measure = measure,
                                 .send = send_message,
                                 .queued = queued,
                                 .agent = agent,
                                 .stop = stop,
                                 .may_leave = may_leave,
                                 .must_stay = must_stay};

/* The other end of to_self: the executor of this host does what the other hosts' executors do on an
 * order by link. */
static void order_self(void *context, const json_t *message) {
    struct master *m = context;
    if (!m->s.judged) /* nothing may delay the exit after the job's end */
        executor_order(&m->s.host, message);
}

/* The other end of from_self. */
static void hear_self(void *context, const json_t *message) {
    struct master *m = context;
    hear(&m->members[0], message);
}

/* Member 0 is this host: it has no link, only the two queues. */
static int open_members(struct master *m, struct error *err) {
    size_t count = m->s.job->cluster.count;
    m->members = calloc(count, sizeof(*m->members));
    if (m->members == NULL)
        return error_no_memory(err, "hosts");
    for (size_t i = 0; i < count; i++) {
        m->members[i].master = m;
        m->members[i].index = i;
        /* A line of a host grows here until its last part has come. */
        buf_init(&m->members[i].line, LINE_SPLITTER_MAX);
    }
    if (message_queue_init(&m->to_self, &m->s.loop, order_self, m, err) != 0)
        return -1;
    return message_queue_init(&m->from_self, &m->s.loop, hear_self, m, err);
}

/* Works after a failed opening, too: every part can be closed without having been opened. Links and
 * pending messages go first; the supervisor goes last, as all timers are on its loop. */
static void close_all(struct master *m) {
    size_t count = m->members != NULL ? m->s.job->cluster.count : 0;
    for (size_t i = 0; i < count; i++) {
        link_free(m->members[i].link);
        json_decref(m->members[i].pending_join);
        buf_done(&m->members[i].line);
        free(m->members[i].fault);
    }
    preflight_close(m);
    uploads_close(m);
    shared_dir_close(m);
    takeover_close(m);
    relaunch_close(m);
    stop_close(m);
    launch_close(m);
    accept_close(m);
    lease_close(m);
    stragglers_close(m);
    ras_child_end(m);
    standing_close(m);
    reports_close(m);
    attempt_done(&m->attempt);
    message_queue_done(&m->to_self);
    message_queue_done(&m->from_self);
    supervisor_close(&m->s);
    free(m->members);
}

/* Timers get their callbacks before the supervisor opens, since a signal may ask for a stop as soon
 * as it has. On success *RET_CODE is the exit code of the job; -1 means that the role could not be
 * set up or its loop failed. */
int master_run(const struct supervisor_options *options, int *ret_code, struct error *err) {
    struct master m = {.check = options->check,
                       .first = 1,
                       .json = options->json,
                       .raise = dispatch,
                       .accept = {.listener = {.watch = {.fd = -1}}}};
    int result = -1;
    /* A master that takes over replaces this by the account that it has inherited (takeover.c). */
    goodput_begin(&m.goodput, clock_boot());
    join_init(&m);
    reports_init(&m);
    stop_init(&m);
    relaunch_init(&m);
    uploads_init(&m);
    shared_dir_init(&m);
    takeover_init(&m);
    preflight_init(&m);
    if (supervisor_open(&m.s, options, &role, &m, err) == 0 && open_members(&m, err) == 0 &&
        preflight_open(&m, err) == 0 && attempt_open(&m.attempt, 1, &m.s.job->cluster, err) == 0)
        result = supervisor_run(&m.s, ret_code, err);
    close_all(&m);
    return result;
}
