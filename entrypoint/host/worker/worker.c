#include "entrypoint/host/worker/worker.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/worker/master_lease.h"
#include "entrypoint/host/worker/worker_messages.h"
#include "entrypoint/host/worker/worker_state.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

/* A worker passes through these states, each a flag of struct worker:
 *
 * dialling: find_master.c looks for the master, while inputs are still downloaded (fetching) or
 * once all is here (start). `begun` and a link lead to worker_join(), in either order.
 *
 * joined: the master has sent `welcome`, or `standby` to a host that comes while the job runs. From
 * then on every message begins the lease anew (master_lease.c), and orders go to the executor.
 *
 * judged: the verdict has come, or this host has made its own. The supervisor then ends what runs
 * and exits.
 *
 * The link may be closed in any state. Before the host has joined, or while it waits and still
 * downloads, the search begins again with the time that is left. Afterwards the master counts as
 * lost. A connection that is merely interrupted is replaced without the link being closed
 * (redial.c). */

/* A verdict that cannot be parsed ends the job here as well, with that error. `heard` lets the
 * master leave: it waits until each host has its verdict. */
static void take_verdict(struct worker *w, const json_t *message) {
    struct verdict verdict;
    struct error err = {0};
    if (verdict_parse(message, &verdict, &err) != 0)
        verdict_from_error(&err, &w->s.job->cluster, -1, &verdict);
    supervisor_conclude(&w->s, &verdict);
    link_send(w->link, message_new(MESSAGE_HEARD));
}

/* Limits the total time without a link to the master, until this host has joined. LEFT is in
 * nanoseconds. */
static void count_down(struct worker *w, int64_t left) {
    loop_after(&w->s.loop, &w->deadline, left);
    loop_after(&w->s.loop, &w->announce, WORKER_ANNOUNCE_SECONDS * CLOCK_SECOND);
}

/* The master was reached, but has not admitted this host: tries again in the time that is left. The
 * time with a link does not count: then the master decides how long to wait. */
static void reach_again(struct worker *w) {
    master_lease_stop(w);
    master_lease_drop_link(w);
    count_down(w, w->stopping ? WORKER_STOP_SECONDS * CLOCK_SECOND : w->left);
}

static void forget_admission(struct worker *w) {
    if (w->waits)
        executor_await_none(&w->s.host);
    w->joined = w->waits = w->counted = false;
}

/* A refusal may be for now or for good. NOT_READY means later or elsewhere, and is no error as long
 * as no order has come from this master. Every other code ends the job here, with the reason that
 * the master gives. */
static void take_refusal(struct worker *w, const json_t *message) {
    struct error why;
    worker_read_refusal(message, &why);
    if (why.code == EXIT_CODE_NOT_READY && !w->ordered && w->link != NULL) {
        forget_admission(w);
        log_info("%s cannot admit this host yet: %s", worker_master_name(w), why.text);
        reach_again(w);
        find_master_later(&w->search);
        return;
    }
    (void)error_wrap(&why, "%s refused this host", worker_master_name(w));
    supervisor_conclude_refused(&w->s, &why);
}

/* From `welcome` or `standby`. The run ID is taken only if it is safe in a path
 * (worker_messages.c).
 */
static void take_run(struct worker *w, const json_t *welcome) {
    w->master_is_pid1 = json_is_true(json_object_get(welcome, "pid1"));
    role_state_note_exit(w->s.role_state, false);
    if (worker_read_run(welcome, w->run))
        executor_set_run(&w->s.host, w->run);
}

/* Stops without a report, because the job does not need this host. */
static void stop_waiting(struct worker *w) {
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_STOPPED, "stopped while waiting for the job's next attempt");
    supervisor_conclude_error(&w->s, &err, (int)w->s.job->cluster.self);
    master_lease_drop_link(w);
}

/* Waits for the job's next attempt, of which this host will be a part. A host that was asked to
 * stop does not wait. The executor then admits no shim and obeys no order but the one that begins
 * an attempt. */
static void begin_to_wait(struct worker *w, const json_t *message) {
    if (w->stopping) {
        stop_waiting(w);
        return;
    }
    w->joined = w->waits = true;
    w->master_lost = false;
    master_lease_beat(w);
    take_run(w, message);
    loop_cancel(&w->s.loop, &w->announce);
    executor_await(&w->s.host);
    log_info("%s leads the job: this host waits for its next attempt", worker_master_name(w));
    event_log_put(&w->s.event_log, EVENT_LOG_BACK,
                  json_pack("{s:s}", "which", worker_master_name(w)));
}

/* The first message of the master, or the promise that the next attempt will include this host.
 * `waits` stays set until the order that begins the attempt has come. */
static void take_welcome(struct worker *w, const json_t *message) {
    if (w->waits) {
        w->counted = true;
        log_info("%s counts on this host in the next attempt", worker_master_name(w));
        return;
    }
    w->joined = true;
    master_lease_beat(w);
    take_run(w, message);
    loop_cancel(&w->s.loop, &w->announce);
    log_info("joined %s", worker_master_name(w));
    event_log_put(&w->s.event_log, EVENT_LOG_JOINED,
                  json_pack("{s:s, s:I}", "which", worker_master_name(w), "count",
                            (json_int_t)w->s.job->cluster.count));
}

/* Handles checks and orders, which only a member of an undecided job obeys. A master that has not
 * admitted this host, or one after the verdict, has no say here. */
static void hear_joined(struct worker *w, enum message kind, const json_t *message) {
    if (!w->joined || w->s.judged)
        return;
    if (kind == MESSAGE_EXAMINE) {
        supervisor_examine(&w->s, message);
        return;
    }
    master_lease_beat(w); /* the master restarts its own lease with such an order, too */
    input_download_rest(&w->s.input_download); /* the first order comes when all hosts have met */
    w->ordered |= kind != MESSAGE_PROBE_DIR;
    executor_order(&w->s.host, message);
    w->waits = w->waits && executor_awaits(&w->s.host);
}

/* Messages of the link come in the order in which they were sent, each once, even if the connection
 * was replaced in between (wire/link.h). The lease is looked at before anything else: messages that
 * waited in the socket while this container was paused may be of a master that others have left. */
static void hear(void *context, const json_t *message) {
    struct worker *w = context;
    const enum message kind = message_kind(message);
    if (master_lease_is_over(w)) {
        master_lease_end(w);
        return;
    }
    master_lease_begin(w);
    redial_heard(&w->redial);
    switch (kind) {
    case MESSAGE_BEAT:
        worker_answer_beat(&w->s, w->link, message);
        master_lease_beat(w);
        break;
    case MESSAGE_WELCOME:
        take_welcome(w, message);
        break;
    case MESSAGE_PARENT:
        worker_take_above(&w->s, message);
        break;
    case MESSAGE_STANDBY:
        if (!w->joined)
            begin_to_wait(w, message);
        else
            hear_joined(w, kind, message);
        break;
    case MESSAGE_VERDICT:
        take_verdict(w, message);
        break;
    case MESSAGE_REFUSE:
        take_refusal(w, message);
        break;
    default:
        hear_joined(w, kind, message);
    }
}

/* Only a warning: the host at that address may be of another job, and the search continues until
 * its deadline. */
static void refused_once(void *context, const struct net_address *peer, const struct error *why) {
    const struct worker *w = context;
    char address[NET_ADDRESS_TEXT];
    net_address_text(peer, address);
    log_warning("%s at %s refuses this host: %s; still trying, it may be of another job",
                worker_master_name(w), address, why->text);
}

static void opened(void *context, struct link *link, const struct net_address *peer);
static void refused(void *context, const struct error *why);
static void round_failed(void *context);
static const struct dial_events dial_events = {opened, refused_once, refused, round_failed};

/* Connects to the master, which is looked up by name, or at the address that the platform gives.
 * The time allowed depends on the role (role_state_reach_seconds). A stop that came between two
 * roles leaves only a few seconds, to tell the next master of it. */
static void connect_master(struct worker *w) {
    int64_t seconds = role_state_reach_seconds(w->s.role_state, &w->s.job->settings);
    w->dialling = true;
    w->stopping = w->stopping || (w->s.role_state != NULL && w->s.role_state->stopping);
    count_down(w, (w->stopping ? WORKER_STOP_SECONDS : seconds) * CLOCK_SECOND);
    find_master_start(&w->search, &w->s.services, w->s.contexts.tls, &dial_events, w);
}

static void search(struct worker *w) {
    reach_again(w);
    find_master_start(&w->search, &w->s.services, w->s.contexts.tls, &dial_events, w);
}

/* If there are more than two hosts, another one may lead the job next. This one has taken no part
 * yet, and does not begin another role before its inputs are complete, as a later role does not
 * fetch them. */
static bool searches_on(struct worker *w, const char *why) {
    if (!w->waits || w->begun || w->stopping ||
        !role_state_others_lead(w->s.role_state, &w->s.job->cluster))
        return false;
    log_warning("%s, for which this host was waiting, is lost: %s; looking for the next master",
                worker_master_name(w), why);
    event_log_host_lost(&w->s.event_log, worker_master_name(w), why);
    forget_admission(w);
    boot_timer_set(&w->late, 0);
    w->master_lost = true;
    const int64_t most = role_state_search_seconds(&w->s.job->settings) * CLOCK_SECOND;
    w->left = w->left < most ? w->left : most;
    search(w);
    return true;
}

/* If the master closed the link before admitting this host, it may have been restarted. The way in
 * which the connection ended may show that the process there has exited. If that was PID 1 of its
 * container, all of its processes are gone, and another master need not wait for a lease. */
static void closed(void *context, const struct error *why) {
    struct worker *w = context;
    role_state_note_exit(w->s.role_state, w->master_is_pid1 && link_peer_exited(w->link));
    master_lease_stop(w);
    master_lease_drop_link(w);
    if (w->s.judged)
        supervisor_may_leave(&w->s);
    else if (w->joined) {
        role_state_note_end(w->s.role_state, why->os_errno);
        master_lease_lose(w, why->text);
    } else {
        search(w);
    }
}

/* Handles a failed search for the master. After a stop, this host tries until its deadline. */
static void round_failed(void *context) {
    struct worker *w = context;
    if (w->stopping)
        return;
    find_master_stop(&w->search);
    master_lease_lose(w, find_master_why(&w->search)->text);
}

/* The link continues over another connection. */
static void resumed(void *context) {
    struct worker *w = context;
    if (master_lease_is_over(w)) {
        master_lease_end(w);
        return;
    }
    master_lease_begin(w);
    log_warning("the connection to %s was interrupted and is restored", worker_master_name(w));
}

const struct redial_events worker_redial_events = {resumed, closed};

/* The error names both versions: hosts of one job must run the same build. */
static void conclude_version(struct worker *w, int64_t version) {
    struct error err = {0};
    (void)frame_error_version(&err, worker_master_name(w), version);
    supervisor_conclude_refused(&w->s, &err);
}

/* From a master of another version only a refusal can be understood. */
static void foreign(void *context, const json_t *message) {
    struct worker *w = context;
    master_lease_drop_link(w);
    master_lease_stop(w);
    if (message_kind(message) == MESSAGE_REFUSE)
        take_refusal(w, message);
    else
        conclude_version(w, frame_version(message));
}

const struct link_events worker_link_events = {
    .message = hear, .foreign = foreign, .closed = closed};

/* From now on the master decides how long to wait for which host. A master of an older version gets
 * a farewell in its own form. Its job then ends with the name of this host and the reason, and not
 * with a timeout.
 *
 * A host that is not ready only says that it is here. A stop that came before there was a link is
 * sent now. */
static void opened(void *context, struct link *link, const struct net_address *peer) {
    struct worker *w = context;
    if (link_peer_version(link) != FRAME_VERSION) {
        int64_t version = link_peer_version(link);
        worker_part_from_older(&w->s, link, version);
        conclude_version(w, version);
        return;
    }
    w->link = link;
    w->peer = *peer;
    w->left = w->deadline.deadline - clock_now();
    loop_cancel(&w->s.loop, &w->deadline);
    link_own(link, &worker_link_events, w);
    link_set_silence(link, w->s.job->settings.dead_seconds);
    master_lease_begin(w);
    redial_start(&w->redial, &w->s, link, peer, &worker_redial_events, w);
    if (w->begun)
        worker_join(&w->s, w->link, &w->peer);
    else
        worker_send_fetching(&w->s, w->link);
    if (w->stopping && w->link != NULL)
        worker_send_stop(w->link, false);
}

/* Reports this host's own fault, which may be why it is refused: it can change the key. */
static bool conclude_own_fault(struct worker *w) {
    if (w->s.fault.code == 0)
        return false;
    supervisor_conclude_error(&w->s, &w->s.fault, (int)w->s.job->cluster.self);
    return true;
}

static void refused(void *context, const struct error *why) {
    struct worker *w = context;
    struct error err = *why;
    if (conclude_own_fault(w))
        return;
    (void)error_wrap(&err, "%s refused this host", worker_master_name(w));
    supervisor_conclude_refused(&w->s, &err);
}

/* No master within the time allowed. In a later role the next step is that of a lost master, or a
 * new job for a restarted first host. In the first role the error names the first host, which
 * should have been there, even if others were asked last. */
static void deadline_passed(void *context) {
    struct worker *w = context;
    struct error err = {0};
    if (role_state_is_again(w->s.role_state) && !w->stopping) {
        find_master_stop(&w->search);
        if (w->s.role_state->anew)
            supervisor_lead_anew(&w->s);
        else
            master_lease_lose(w, find_master_why(&w->search)->text);
        return;
    }
    if (w->stopping) {
        (void)error_set(&err, EXIT_CODE_STOPPED, "stopped before the job began");
        supervisor_conclude_error(&w->s, &err, (int)w->s.job->cluster.self);
        return;
    }
    if (conclude_own_fault(w))
        return;
    const struct error *why = find_master_why(&w->search);
    if (w->master_lost) {
        (void)error_set(&err, EXIT_CODE_HOST_LOST,
                        "the master is lost, and this host found no other one within %lld s: %s",
                        (long long)role_state_search_seconds(&w->s.job->settings), why->text);
        supervisor_conclude_error(&w->s, &err, 0);
        return;
    }
    if (role_state_is_on(w->s.role_state)) { /* the first host should be there */
        w->s.role_state->turn = 0;
        role_state_next_leader(w->s.role_state, w->s.job);
    }
    (void)error_set(
        &err, why->code == EXIT_CODE_KEY_REFUSED ? EXIT_CODE_KEY_REFUSED : EXIT_CODE_NOT_READY,
        "%s was not there within %lld s: %s", worker_master_name(w),
        (long long)w->s.job->settings.ready_seconds, why->text);
    supervisor_conclude_error(&w->s, &err, 0);
}

/* Every few seconds, because a log that stands still should say what it waits for. */
static void announce(void *context) {
    struct worker *w = context;
    if (w->link == NULL)
        log_info("waiting for %s: %s", worker_master_name(w), find_master_why(&w->search)->text);
    else if (w->begun)
        log_info("waiting for %s, which is here and not ready yet", worker_master_name(w));
    loop_after(&w->s.loop, &w->announce, WORKER_ANNOUNCE_SECONDS * CLOCK_SECOND);
}

/* The connection is made while inputs are downloaded, so that the master knows of this host
 * meanwhile. */
static void fetching(void *state) {
    struct worker *w = state;
    if (!w->dialling)
        connect_master(w);
    else if (w->link != NULL)
        worker_send_fetching(&w->s, w->link);
}

/* The connection may be there already, or still be looked for: whichever comes second, opened() or
 * this, joins. */
static void start(void *state) {
    struct worker *w = state;
    if (w->s.judged)
        return;
    w->begun = true;
    if (w->waits) { /* the message came before this host was open */
        executor_await(&w->s.host);
        executor_set_run(&w->s.host, w->run);
    }
    if (!w->dialling)
        connect_master(w);
    else if (w->link != NULL)
        worker_join(&w->s, w->link, &w->peer);
}

/* Without a link a message is dropped: the master has lost this host, or has not admitted it. */
static void send_message(void *state, json_t *message) {
    struct worker *w = state;
    if (w->link != NULL)
        link_send(w->link, message);
    else
        json_decref(message);
}

static size_t queued(void *state) {
    const struct worker *w = state;
    return w->link != NULL ? link_queued(w->link) : 0;
}

static void agent(void *state, struct link *link, const json_t *message) {
    (void)state;
    (void)message;
    link_free(link); /* only the master runs mpirun */
}

/* The master decides about the stop of a job: the request is sent to it, and this host continues
 * until the verdict. Without a link there are a few seconds to reach it. A second request ends that
 * wait at once. */
static void stop(void *state, bool again) {
    struct worker *w = state;
    w->stopping = true;
    event_log_put(
        &w->s.event_log, EVENT_LOG_STOP,
        json_pack("{s:s, s:b}", "which", supervisor_own_name(&w->s), "again", (int)again));
    if (w->waits && !w->counted) {
        stop_waiting(w);
        return;
    }
    if (w->link != NULL) {
        worker_send_stop(w->link, again);
        return;
    }
    loop_after(&w->s.loop, &w->deadline, again ? 0 : WORKER_STOP_SECONDS * CLOCK_SECOND);
}

/* The answer to the verdict must have left the process. link_flush() may find the link closed, and
 * closed() then sets it to NULL. */
static bool may_leave(void *state) {
    struct worker *w = state;
    if (w->link == NULL)
        return true;
    link_flush(w->link);
    return w->link == NULL || link_queued(w->link) == 0;
}

static const struct role role = {.fetching = fetching,
                                 .start = start,
                                 .send = send_message,
                                 .queued = queued,
                                 .agent = agent,
                                 .stop = stop,
                                 .may_leave = may_leave};

/* W is on this stack, and all parts hold pointers into it. The link goes before the supervisor,
 * which owns the loop and the TLS contexts. */
int worker_run(const struct supervisor_options *options, int *ret_code, struct error *err) {
    struct worker w = {0};
    int result = -1;
    w.deadline = (struct timer){.fire = deadline_passed, .context = &w};
    w.announce = (struct timer){.fire = announce, .context = &w};
    w.searches_on = searches_on;
    master_lease_init(&w);
    if (supervisor_open(&w.s, options, &role, &w, err) == 0 && master_lease_open(&w, err) == 0)
        result = supervisor_run(&w.s, ret_code, err);
    master_lease_close(&w);
    find_master_stop(&w.search);
    redial_stop(&w.redial);
    link_free(w.link);
    supervisor_close(&w.s);
    return result;
}
