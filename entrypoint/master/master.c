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

/* Lines arrive in parts that fit into a message; the last part ends with '\n'. */
static void forwarded_line(struct member *b, const json_t *message) {
    const json_t *text = json_object_get(message, "text");
    struct console *console = &b->master->s.console;
    size_t size = json_string_length(text);
    int64_t dropped = json_integer_value(json_object_get(message, "dropped"));
    if (dropped > 0)
        console_count_dropped(console, (uint64_t)dropped);
    if (size == 0)
        return;
    if (buf_add(&b->line, json_string_value(text), size, NULL) != 0)
        b->line.size = 0; /* no line of ours is that long */
    else if (b->line.data[b->line.size - 1] == '\n') {
        console_line(console, b->line.data, b->line.size);
        b->line.size = 0;
    }
}

static void ask_for_stop(struct member *b, bool again) {
    master_raise_about(b, again ? EVENT_STOP_AGAIN : EVENT_STOP, NULL);
}

/* Handles messages that count only while the attempt runs. */
static void hear_running(struct member *b, enum message kind, const json_t *message) {
    switch (kind) {
    case MESSAGE_VIEW_ACCEPTED:
        relaunch_begun(b);
        break;
    case MESSAGE_RANK_STARTED:
        reports_seated(b, message);
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

/* Handles messages that belong to one attempt: late ones of the previous attempt are ignored. */
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

/* Handles messages that no longer count once the job is judged. */
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

/* Handles the messages of every host, this one included. */
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

static void member_closed(void *context, const struct error *why) {
    struct member *b = context;
    b->exited = b->is_pid1 && link_peer_exited(b->link);
    link_free(b->link);
    b->link = NULL;
    master_raise_about(b, EVENT_HOST_GONE, why->text);
}

const struct link_events master_member_events = {.message = hear_member, .closed = member_closed};

/* --- the role --------------------------------------------------------------------------------- */

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

static void fetching(void *state) {
    struct master *m = state;
    struct error err = {0};
    if (open_listener(m, &err) != 0)
        supervisor_conclude_error(&m->s, &err, 0);
    else
        fetch_wait_receive(&m->members[0], &m->s.mark);
}

/* Called when this host has everything that it needs, or a fault. */
static int begin(struct master *m, struct error *err) {
    if (m->phase != PHASE_GATHERING)
        return join_begin(m, err);
    takeover_begin(m);
    join_go_on(m);
    return 0;
}

static void start(void *state) {
    struct master *m = state;
    struct error err = {0};
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

static void send_message(void *state, json_t *message) {
    struct master *m = state;
    message_queue_put(&m->from_self, message);
}

static size_t queued(void *state) {
    (void)state;
    return 0;
}

static void agent(void *state, struct link *link, const json_t *message) {
    launch_agent(state, link, message);
}

static void stop(void *state, bool again) {
    struct master *m = state;
    ask_for_stop(&m->members[0], again);
}

/* The master exits last: a closed link means that the host at the other end has exited. */
static bool may_leave(void *state) {
    const struct master *m = state;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (verdict_delivery_is_expected(m, i))
            return false;
    return true;
}

static bool must_stay(void *state) {
    return verdict_delivery_is_owed(state);
}

/* names of hosts need no quoting */
static int measure_hosts(const struct master *m, struct buf *ret, struct error *err) {
    bool first = true;
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        const struct member *b = &m->members[i];
        char labels[HOST_NAME_SIZE + 16];
        if (b->link == NULL || b->heard == 0)
            continue;
        (void)snprintf(labels, sizeof(labels), "host=\"%s\"", member_name(b));
        double age = (double)(clock_now() - b->heard) / (double)CLOCK_SECOND;
        if (openmetrics_sample(ret, "ringmaster_heartbeat_age_seconds",
                               first ? "since the host's last word" : NULL, labels, age, err) != 0)
            return -1;
        first = false;
    }
    return 0;
}

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
                           (double)m->attempt.seated_count, err) != 0 ||
        openmetrics_sample(ret, "ringmaster_ranks_lost", "of the attempt, which goes on", "",
                           (double)m->attempt.forgone_count, err) != 0)
        return -1;
    return accounting_measure(m, ret, err) == 0 ? measure_hosts(m, ret, err) : -1;
}

static const struct role role = {.fetching = fetching,
                                 .start = start,
                                 .measure = measure,
                                 .send = send_message,
                                 .queued = queued,
                                 .agent = agent,
                                 .stop = stop,
                                 .may_leave = may_leave,
                                 .must_stay = must_stay};

static void order_self(void *context, const json_t *message) {
    struct master *m = context;
    if (!m->s.judged) /* nothing may delay the exit after the job's end */
        executor_order(&m->s.host, message);
}

static void hear_self(void *context, const json_t *message) {
    struct master *m = context;
    hear(&m->members[0], message);
}

static int open_members(struct master *m, struct error *err) {
    size_t count = m->s.job->cluster.count;
    m->members = calloc(count, sizeof(*m->members));
    if (m->members == NULL)
        return error_no_memory(err, "hosts");
    for (size_t i = 0; i < count; i++) {
        m->members[i].master = m;
        m->members[i].index = i;
        buf_init(&m->members[i].line, LINE_SPLITTER_MAX);
    }
    if (message_queue_init(&m->to_self, &m->s.loop, order_self, m, err) != 0)
        return -1;
    return message_queue_init(&m->from_self, &m->s.loop, hear_self, m, err);
}

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

int master_run(const struct supervisor_options *options, int *ret_code, struct error *err) {
    struct master m = {.check = options->check,
                       .first = 1,
                       .json = options->json,
                       .raise = dispatch,
                       .accept = {.listener = {.watch = {.fd = -1}}}};
    int result = -1;
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
