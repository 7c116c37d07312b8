#include "entrypoint/host/executor.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/host/mpi_setup.h"
#include "entrypoint/host/observe/metric_matcher.h"
#include "entrypoint/job/cluster/seats.h"
#include "entrypoint/job/machine/nic_environment.h"
#include "entrypoint/mpi/addresses.h"
#include "entrypoint/wire/message.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every order comes in through executor_order(), for a worker from its link (worker/worker.c) and
 * for the master's own container from the master itself (master/master.c). It compares the attempt
 * that the order names with the one of this host's ranks, and drops what does not match. An order
 * that was delayed until after a restart therefore cannot end, start or signal the ranks of a later
 * attempt.
 *
 * One attempt gives way to the next in this order. `clear` ends the ranks and Open MPI's daemon,
 * the process tree is swept, cleared() prepares the host, and `cleared` tells the master. Then the
 * next `attempt` begins. The number changes with `clear` already, so that what old shims still send
 * is refused.
 *
 * Nothing here waits: each step that takes time is a child or a timer, and continues in a callback.
 * A fault goes to the master as the answer to its order. */

/* Room for a line in which each address has become the name of its host: a name may be several
 * times as long as an address. A line that does not fit keeps its addresses. */
enum { NAMED_MAX = 4 * LINE_SPLITTER_MAX };

/* The master prints the lines of its own ranks itself, so only other hosts send theirs. */
static bool is_forwarded(const struct executor *h) {
    return h->services->job->settings.logs == SETTINGS_LOGS_MASTER &&
           !cluster_is_master(&h->services->job->cluster);
}

void executor_send_dropped(struct executor *h) {
    if (h->forward.dropped > 0 && is_forwarded(h)) /* never true before the host is open */
        line_forward_end(&h->forward);
}

/* Sends a message about this attempt; takes over the reference. The attempt is that of the rank
 * set, 0 while this host waits for one. */
static void send_message(void *context, json_t *message) {
    struct executor *h = context;
    (void)json_object_set_new(message, "attempt", json_integer(h->rank_set.attempt));
    h->send(h->context, message);
}

static void send_metric(void *host, const char *name) {
    send_message(host, message_with(MESSAGE_METRIC, json_pack("{s:s}", "name", name)));
}

/* Sink of all lines of this host's ranks and of Open MPI's programs. They are printed before they
 * are matched or forwarded: this container's own log is complete even where the link to the master
 * is slow or lost. */
static void log_one(void *host, const char *line, size_t size) {
    struct executor *h = host;
    console_line(h->services->console, line, size);
    metric_matcher_line(&h->metrics, line, size, send_metric, h);
    if (is_forwarded(h))
        line_forward(&h->forward, line, size);
}

/* A daemon's lines have a prefix, so the text to judge begins after it. The judgement needs only
 * the beginning of the line, so a copy of 255 bytes is enough.
 *
 * Open MPI knows hosts by addresses, people by names, so addresses are replaced before the line is
 * printed. */
void executor_tool_line(void *host, const char *line, size_t size) {
    const struct executor *h = host;
    char text[256];
    const char *at = memchr(line, ']', size);
    size_t skip = at != NULL ? (size_t)(at - line) + 2 : 0;
    cleanup_buf struct buf named;
    buf_init(&named, NAMED_MAX);
    (void)snprintf(text, sizeof(text), "%.*s", (int)(size - skip), line + skip);
    if (h->quiet || openmpi_is_noise(text))
        return;
    if (addresses_to_names(&h->services->job->cluster, line, size, &named, NULL) == 0 &&
        named.size <= LINE_SPLITTER_MAX)
        log_one(host, named.data, named.size);
    else
        log_one(host, line, size);
}

/* Answers `launch` with a refusal, or the start of an attempt with a fault. The master
 * handles both like the end of a daemon. */
static void send_no_daemon(struct executor *h, const char *why) {
    send_message(h, message_with(MESSAGE_DAEMON, json_pack("{s:i, s:o}", "code", EXIT_CODE_INTERNAL,
                                                           "text", json_string_any(why))));
}

/* The signal and what the kernel says of memory let the master name the cause of the end. The time
 * is this host's clock_boot(): the master converts it to its own, and finds out whether the daemon
 * ended before any rank did (outcome/verdict.c). */
static void daemon_ended(void *context, int code) {
    struct executor *h = context;
    send_message(h,
                 message_with(MESSAGE_DAEMON, json_pack("{s:i, s:i, s:i, s:I}", "code", code,
                                                        "signal", h->daemon.task.signal, "memory",
                                                        (int)rank_set_memory(&h->rank_set), "time",
                                                        (json_int_t)clock_boot())));
}

static void launch(struct executor *h, const json_t *order) {
    struct error err = {0};
    const char *command = NULL;
    if (json_member_string(order, "launch", "command", &command, &err) != 0 || command == NULL ||
        mpi_daemon_start(&h->daemon, command, &err) != 0)
        send_no_daemon(h, command == NULL ? "the launch request has no command" : err.text);
}

/* --- from one attempt to the next ------------------------------------------------------------ */

/* Programs are killed together with their shims. Other processes get SIGTERM and, after this time,
 * SIGKILL; those that survive even SIGKILL for so long are given up. */
static const int64_t clear_grace = 500 * CLOCK_MILLISECOND;
static const int64_t clear_give_up = 10 * CLOCK_SECOND;

/* A FAULT says what is left of the attempt, or which part of this host is unfit for the next one.
 */
static void send_cleared(struct executor *h, const char *fault) {
    json_t *message = message_new(MESSAGE_CLEARED);
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string(fault));
    send_message(h, message);
}

static void vacant(void *context, const struct error *failure) {
    send_cleared(context, failure != NULL ? failure->text : NULL);
}

/* Prepares this host for the next attempt. A failure file that the old attempt's program wrote does
 * not count for it. The link to the agent and the control socket are looked at anew, because a
 * program may have removed their folder. Ports and GPUs come last: they are released by the
 * processes that have just ended, which takes the kernel a moment. */
static void cleared(void *context, size_t left) {
    struct executor *h = context;
    struct error fault = {0};
    mpi_daemon_close_scratch(&h->daemon);
    failure_writer_prepare(h->services->failure);
    if (left > 0)
        (void)error_set(&fault, EXIT_CODE_INTERNAL, "%zu processes did not die of SIGKILL", left);
    else
        (void)mpi_setup_renew_agent(h->services->local, &fault);
    if (fault.code != 0)
        send_cleared(h, fault.text);
    else
        resource_wait_await(&h->resource_wait, h->services, &h->rank_set, vacant, h);
}

/* The furthest step is noted before the slots are gone, as a new master judges by it whether
 * attempts make any progress. */
void executor_end_attempt(struct executor *h, unsigned next) {
    if (h->rank_set.slots != NULL && h->services->role_state != NULL)
        role_state_note_step(h->services->role_state, rank_set_step(&h->rank_set));
    rank_set_clear(&h->rank_set, next);
}

/* The child of the event log is asked to finish first, so that the records of the old attempt are
 * written while everything else is killed. It is spared for that. The attempt ends for the ranks at
 * once: clearing the set closes the links to the shims, and a shim without a supervisor kills its
 * program. */
static void clear(struct executor *h, int64_t attempt) {
    const struct services *with = h->services;
    log_info("attempt %u is over", h->rank_set.attempt);
    h->quiet = true;
    event_log_rest(with->event_log);
    process_tree_spare(with->sweep, event_log_child(with->event_log), 0);
    executor_end_attempt(h, (unsigned)attempt);
    mpi_daemon_kill(&h->daemon);
    mpi_daemon_drop(&h->daemon);
    rank_launch_end(&h->rank_launch);
    gatherer_end(&h->gatherer);
    process_tree_start(with->sweep, with->loop, with->reaper, clear_grace, clear_give_up, cleared,
                       h);
}

/* Attempts count from 1: no shim registers before the next attempt is known. */
void executor_await(struct executor *h) {
    rank_set_clear(&h->rank_set, 0);
}

void executor_await_none(struct executor *h) {
    rank_set_clear(&h->rank_set, 1);
}

bool executor_awaits(const struct executor *h) {
    return h->rank_set.attempt == 0;
}

/* The number comes from a peer and is kept as an unsigned int, so a number that does not fit is no
 * attempt. */
static bool comes_first(const struct executor *h, int64_t attempt) {
    return executor_awaits(h) && attempt > 0 && attempt <= INT32_MAX;
}

/* Accepts the view of the new attempt. A host that cannot sends nothing and is not counted. In a
 * role without failover there is no view, and nothing is sent. */
static void accept_view(struct executor *h) {
    struct role_state *role = h->services->role_state;
    if (role_state_is_on(role) &&
        role_state_take(role, &h->services->job->cluster, h->rank_set.attempt))
        send_message(h, message_new(MESSAGE_VIEW_ACCEPTED));
}

/* The view is committed once all hosts have accepted it. Its addresses are kept for a later role,
 * in which another host is the master. */
static void settle(struct executor *h, const json_t *order) {
    struct role_state *role = h->services->role_state;
    if (role_state_is_on(role) && !role_state_commit_view(role, h->rank_set.attempt, order))
        log_warning("attempt %u is not this host's", h->rank_set.attempt);
}

/* A spare may have taken the place of the host with rank 0. The ranks meet at the address of rank
 * 0, which is then `first` of the order. In a job without spares it is always the master's, and
 * stays what executor_meet_master() has set. */
static void take_seats(struct executor *h, const json_t *order) {
    struct cluster *cluster = &h->services->job->cluster;
    const char *first = json_string_value(json_object_get(order, "first"));
    struct net_address address = h->master;
    if (first != NULL)
        (void)net_address_parse(first, &address);
    if (cluster->spares > 0)
        net_address_text(&address, h->rank_set.master_addr);
    seats_read(cluster, order);
}

/* Seats are taken before anything is counted, because they say which hosts have ranks. A host that
 * is a spare goes through the same steps with no rank of its own. */
static void begin(struct executor *h, const json_t *order) {
    struct error err = {0};
    struct cluster *cluster = &h->services->job->cluster;
    struct role_state *role = h->services->role_state;
    take_seats(h, order);
    const size_t ranks = cluster_ranks(cluster);
    const size_t hosts = cluster_hosts_left(cluster);
    log_info("attempt %u begins, with %zu rank%s on %zu host%s", h->rank_set.attempt, ranks,
             STR_PLURAL(ranks), hosts, STR_PLURAL(hosts));
    if (cluster->hosts[cluster->self].spare)
        log_info("this host is a spare and waits");
    event_log_set_attempt(h->services->event_log, h->rank_set.attempt);
    event_log_put(h->services->event_log, EVENT_LOG_ATTEMPT,
                  json_pack("{s:I, s:I}", "ranks", (json_int_t)ranks, "hosts", (json_int_t)hosts));
    h->quiet = false;
    if (role != NULL) {
        role->attempt = h->rank_set.attempt;
        role->back = role->anew = false;
        role_state_take_progress(role, order);
    }
    if (rank_set_begin(&h->rank_set, &err) != 0)
        send_no_daemon(h, err.text);
    accept_view(h);
}

/* --- upload of results ------------------------------------------------------------------------ */

/* Processes get as little time as after the verdict, which waits for the upload. */
static const int64_t upload_grace = 500 * CLOCK_MILLISECOND;
static const int64_t upload_give_up = CLOCK_SECOND;

static void uploaded(void *context, const struct error *failure) {
    struct executor *h = context;
    json_t *message = message_new(MESSAGE_UPLOADED);
    if (failure != NULL) {
        (void)json_object_set_new(message, "code", json_integer(failure->code));
        (void)json_object_set_new(message, "text", json_string_any(failure->text));
    }
    send_message(h, message);
}

/* Nothing writes into the output folders any more, except processes that even SIGKILL has not
 * ended. */
static void programs_gone(void *context, size_t left) {
    struct executor *h = context;
    if (left > 0)
        log_warning("%zu processes did not die of SIGKILL in time", left);
    mpi_daemon_close_scratch(&h->daemon);
    output_upload_finish(h->output_upload, h->upload_seconds, uploaded, h);
}

/* Uploads the results; a failure file is part of them. The master sends its verdict with the order,
 * so that the file can be written before the upload looks for it. It is the early verdict: the
 * final one may still change, by a failure of the upload itself.
 *
 * `ending` keeps this host from following another master: with the programs gone there is no
 * attempt left to take part in. */
static void upload(struct executor *h, const json_t *order) {
    const struct services *with = h->services;
    struct verdict verdict;
    struct error err = {0};
    h->upload_seconds = json_integer_value(json_object_get(order, "seconds"));
    h->quiet = true;
    if (with->role_state != NULL)
        with->role_state->ending = true;
    if (!h->output_upload->open) {
        (void)error_set(&err, EXIT_CODE_INTERNAL,
                        "this host has no upload targets, but the master has");
        uploaded(h, &err);
        return;
    }
    pid_t failure = 0;
    if (verdict_parse(order, &verdict, NULL) == 0 && verdict.code != EXIT_CODE_OK) {
        failure_writer_conclude_early(with->failure, &verdict);
        failure = with->failure->child.pid;
    }
    mpi_daemon_kill(&h->daemon);
    event_log_rest(with->event_log);
    process_tree_spare(with->sweep, failure, event_log_child(with->event_log));
    process_tree_start(with->sweep, with->loop, with->reaper, upload_grace, upload_give_up,
                       programs_gone, h);
}

/* Workers know the run ID from `welcome`, a new master from its role state. The role state keeps a
 * copy for the roles that follow, and the event log stamps it on each record. */
void executor_set_run(struct executor *h, const char *run) {
    (void)snprintf(h->run, sizeof(h->run), "%s", run);
    if (h->services == NULL) /* a fault came before it was opened */
        return;
    struct role_state *role = h->services->role_state;
    if (role != NULL)
        (void)snprintf(role->run, sizeof(role->run), "%s", h->run);
    event_log_set_run(h->services->event_log, h->run);
}

/* The number comes from a peer. Only the signals that a job may be stopped with are sent on, never
 * SIGSTOP, say. */
static void signal_ranks(struct executor *h, enum message kind, const json_t *order) {
    json_int_t number = json_integer_value(json_object_get(order, "number"));
    if (!stop_signals_has(number))
        return;
    if (kind == MESSAGE_STOP)
        rank_set_stop(&h->rank_set, (int)number);
    else
        rank_set_warn(&h->rank_set, (int)number, json_is_true(json_object_get(order, "stops")));
}

/* Carries out an order about the attempt that runs here. Kinds that are no orders, and kinds of a
 * later version of the protocol, have no effect. */
static void obey(struct executor *h, enum message kind, const json_t *order) {
    switch (kind) {
    case MESSAGE_PROBE_DIR:
        shared_dir_check_step(&h->proof, order);
        break;
    case MESSAGE_VIEW_COMMITTED:
        settle(h, order);
        break;
    case MESSAGE_ATTEMPT:
        begin(h, order);
        break;
    case MESSAGE_LAUNCH:
        launch(h, order);
        break;
    case MESSAGE_RANKS:
        rank_launch_start(&h->rank_launch, order);
        break;
    case MESSAGE_STOP:
    case MESSAGE_WARN:
        signal_ranks(h, kind, order);
        break;
    case MESSAGE_END:
        rank_set_end(&h->rank_set);
        break;
    case MESSAGE_KILL:
        rank_set_kill(&h->rank_set);
        break;
    case MESSAGE_GATHER:
    case MESSAGE_PROCESSES:
        gatherer_start(&h->gatherer, order);
        break;
    case MESSAGE_UPLOAD:
        upload(h, order);
        break;
    case MESSAGE_UPLOAD_DEADLINE:
        output_upload_set_deadline(h->output_upload,
                                   json_integer_value(json_object_get(order, "seconds")));
        break;
    case MESSAGE_PAIRS:
    case MESSAGE_PASSED:
        rank_set_exchange(&h->rank_set, kind, json_object_get(order, "pairs"));
        break;
    case MESSAGE_RELEASE:
        rank_set_release(&h->rank_set,
                         (unsigned)json_integer_value(json_object_get(order, "rank")));
        break;
    default:
        break;
    }
}

/* `clear` is the only order that names the attempt after this one, and `attempt` the only one by
 * which a host that waits learns the number. A host that has waited has no ranks to end, so its set
 * only takes the number. */
void executor_order(struct executor *h, const json_t *order) {
    const enum message kind = message_kind(order);
    int64_t attempt = json_integer_value(json_object_get(order, "attempt"));
    if (kind == MESSAGE_CLEAR && attempt == (int64_t)h->rank_set.attempt + 1) {
        clear(h, attempt);
    } else if (kind == MESSAGE_ATTEMPT && comes_first(h, attempt)) {
        rank_set_clear(&h->rank_set, (unsigned)attempt);
        begin(h, order);
    } else if (attempt == h->rank_set.attempt) {
        obey(h, kind, order);
    }
}

/* The parts are filled in, not started: no callback comes before this returns. On failure the
 * caller calls executor_done() all the same, and closing a part that was never used does nothing.
 */
int executor_open(struct executor *h, const struct services *services,
                  const struct executor_options *o, struct error *err) {
    *h = (struct executor){.services = services,
                           .output_upload = o->output_upload,
                           .send = o->send,
                           .context = o->context,
                           .forward = {o->send, o->queued, o->context, 0}};
    h->daemon = (struct mpi_daemon){.services = services,
                                    .run = h->run,
                                    .rank_set = &h->rank_set,
                                    .interface = &h->interface,
                                    .master = &h->master,
                                    .line = executor_tool_line,
                                    .ended = daemon_ended,
                                    .context = h};
    h->rank_launch = (struct rank_launch){.services = services,
                                          .run = h->run,
                                          .rank_set = &h->rank_set,
                                          .line = executor_tool_line,
                                          .send = send_message,
                                          .context = h};
    h->gatherer = (struct gatherer){
        .services = services, .rank_set = &h->rank_set, .send = send_message, .context = h};
    h->proof = (struct shared_dir_check){
        .services = services, .run = h->run, .send = send_message, .context = h};
    struct rank_sinks sinks = {.send = send_message, .line = log_one, .context = h};
    if (mpi_setup_link_agent(services->local, err) != 0)
        return -1;
    metric_matcher_open(&h->metrics, services->job);
    if (rank_set_open(&h->rank_set, services, &sinks, err) != 0)
        return -1;
    if (role_state_knows(h->services->role_state))
        executor_await(h);
    return 0;
}

void executor_done(struct executor *h) {
    resource_wait_cancel(&h->resource_wait);
    shared_dir_check_close(&h->proof);
    rank_set_done(&h->rank_set);
    metric_counts_done(&h->metrics);
    mpi_daemon_drop(&h->daemon);
    rank_launch_end(&h->rank_launch);
    gatherer_end(&h->gatherer);
    mpi_daemon_close_scratch(&h->daemon);
}

/* Logs the interface chosen for all libraries, once, with its reason. */
static void log_network(struct executor *h, bool configured) {
    char network[INTERFACE_TEXT_SIZE];
    char own[NIC_ENVIRONMENT_TEXT_SIZE];
    const struct cluster *cluster = &h->services->job->cluster;
    if (cluster->count == 1)
        return;
    (void)snprintf(h->rank_set.interface, sizeof(h->rank_set.interface), "%s", h->interface.name);
    interface_cidr(&h->interface, network);
    nic_environment_own(h->services->environment, own);
    log_info("the job's network is %s on %s, %s; Open MPI, NCCL, Gloo, libfabric and UCX are set "
             "to use it%s%s",
             network, h->interface.name,
             configured ? "as configured" : "which leads to the other hosts",
             own[0] != '\0' ? ", except what the job sets itself: " : "", own);
}

/* PEER is an address that the interface has to lead to: the master's, or for the master itself that
 * of a worker. The addresses of this host and of the master become those in the cluster, and so
 * those that Open MPI is given. */
int executor_meet_master(struct executor *h, const struct net_address *master,
                         const struct net_address *peer, char warning[INTERFACE_WARNING_SIZE],
                         struct error *err) {
    struct cluster *cluster = &h->services->job->cluster;
    if (interface_choose(cluster->interface, peer, &h->interface, warning, err) != 0)
        return -1;
    h->master = cluster_is_master(cluster) ? h->interface.address : *master;
    cluster->hosts[0].address = h->master;
    cluster->hosts[cluster->self].address = h->interface.address;
    net_address_text(&h->master, h->rank_set.master_addr);
    log_network(h, strcmp(cluster->interface, h->interface.name) == 0);
    return 0;
}
