#include "entrypoint/host/supervisor.h"
#include "entrypoint/host/plugin_trial.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/signal_name.h"
#include "entrypoint/host/fd_budget.h"
#include "entrypoint/job/key.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/os/runtime_dirs.h"
#include "entrypoint/os/user_signals.h"
#include "entrypoint/wire/message.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A supervisor is opened in steps that may each take long. supervisor_open() itself makes
 * what even a failing job needs: loop, logs, failure file and TLS contexts. Then inputs are
 * downloaded (download_inputs), and Python requirements installed (install). At last this host is
 * opened (open_host), and Open MPI is looked for (set_up_mpi). The role starts after that, from the
 * loop.
 *
 * A fault in any step does not end this process: it becomes s->fault, the rest is skipped, and the
 * role starts all the same. A worker then joins and tells the master, so that every host of the job
 * exits with the same reason. Only what makes even that impossible, such as a missing key, is an
 * error of supervisor_open().
 *
 * The end of the job is in supervisor_conclude.c, the end of a role in supervisor_follow.c. */

/* A second stop signal within this time counts as the same request. */
static const int64_t again_after = CLOCK_SECOND;
/* For both consoles together, after the verdict: a log that no process reads must not hold up the
 * exit.
 */
enum { FLUSH_SECONDS = 1 };

const char *supervisor_host_name(const struct supervisor *s, size_t index) {
    return s->job->cluster.hosts[index].name.text;
}

const char *supervisor_own_name(const struct supervisor *s) {
    return supervisor_host_name(s, s->job->cluster.self);
}

/* Passes a user signal only to this host's ranks, because its sender addressed one container, or
 * one task of a job. It is logged in either case, because a user who has sent one looks here for
 * what came of it. */
static void pass_on(struct supervisor *s, int number) {
    unsigned ranks = rank_set_signal(&s->host.rank_set, number);
    if (ranks > 0)
        log_info("SIG%s: passed on to %u %s of this host", signal_name(number), ranks,
                 ranks == 1 ? "rank" : "ranks");
    else
        log_info("SIG%s: ignored, as no rank runs on this host", signal_name(number));
}

/* All signals of this process come here, from a signalfd of the loop, and not in a handler, so that
 * everything may be called. SIGCHLD may stand for several children: reaper_run() reaps all that
 * have ended. */
void supervisor_signal(struct supervisor *s, int number) {
    if (number == SIGCHLD) {
        process_tree_reaped(&s->sweep, reaper_run(&s->reaper));
        return;
    }
    if (user_signals_has(number)) {
        pass_on(s, number);
        return;
    }
    bool is_stop = number == SIGTERM || number == SIGINT || number == SIGHUP;
    if (is_stop && s->role_state != NULL && s->role_state->over)
        s->role_state->stopping = true; /* taken over by the next life */
    if (!is_stop || s->judged)
        return; /* after the verdict a stop changes nothing */
    /* One request to stop often arrives as several signals: from a terminal and from the process
     * that closes it, or to a wrapper and to its group. HUP never counts as a second request. */
    int64_t now = clock_now();
    bool again = s->stop_asked != 0;
    if (again && (number == SIGHUP || now - s->stop_asked < again_after))
        return;
    if (!again)
        s->stop_asked = now;
    log_info("received SIG%s: %s", signal_name(number),
             again ? "the second stop request ends everything at once" : "stopping the job");
    s->role->stop(s->state, again);
}

static void on_signal(void *context, int number) {
    supervisor_signal(context, number);
}

/* SIGPIPE is ignored, so that writing to a closed pipe or socket fails with EPIPE instead of ending
 * this process. */
static int handle_signals(struct supervisor *s, struct error *err) {
    sigset_t set;
    user_signals_handled(&set);
    (void)signal(SIGPIPE, SIG_IGN);
    return loop_signals(&s->loop, &set, on_signal, s, err);
}

/* A process of this container has connected to the control socket. The kind of its first message
 * says which it is: a shim or a remote-launch agent. Any other is dropped. */
static void link_arrived(void *context, struct link *link, const struct net_address *peer,
                         const json_t *message) {
    struct supervisor *s = context;
    (void)peer;
    switch (message_kind(message)) {
    case MESSAGE_HELLO:
        rank_set_register(&s->host.rank_set, link, message);
        break;
    case MESSAGE_AGENT:
        s->role->agent(s->state, link, message);
        break;
    default:
        link_free(link);
    }
}

static const struct listener_events local_events = {.arrived = link_arrived};

/* The executor knows no role. For a worker these two lead to its link, for the master to its own
 * queue. */
static void host_sends(void *context, json_t *message) {
    struct supervisor *s = context;
    s->role->send(s->state, message);
}

static size_t host_queued(void *context) {
    struct supervisor *s = context;
    return s->role->queued(s->state);
}

/* Fired by the timer `begin`, as a role must not start from within supervisor_open(). */
static void begin(void *context) {
    struct supervisor *s = context;
    s->role->start(s->state);
}

/* Removes runtime folders that killed processes of earlier jobs have left: in RINGMASTER_RUN, if it
 * is set, and in all usual places. Folders in use are locked, and stay (os/runtime_dirs.h). */
static void sweep_stale_dirs(const char *run) {
    const char *places[1 + CONTROL_SOCKET_PLACES_MAX] = {run};
    size_t first = run != NULL ? 1 : 0;
    runtime_dirs_sweep_apart(places, first + control_socket_places(NULL, places + first));
}

/* The control socket comes before the executor, which puts the agent's link beside it. A check runs
 * no ranks, so it has no progress to show or report. */
static int open_host(struct supervisor *s, struct error *err) {
    const struct executor_options options = {.output_upload = &s->output_upload,
                                             .send = host_sends,
                                             .queued = host_queued,
                                             .context = s};
    sweep_stale_dirs(s->job->settings.run);
    if (control_socket_open(&s->local, &s->loop, s->job->settings.run, &local_events, s, err) != 0)
        return -1;
    listener_set_room(&s->local.listener, fd_budget_pending(&s->job->cluster));
    if (executor_open(&s->host, &s->services, &options, err) != 0)
        return -1;
    if (s->check)
        return 0;
    progress_line_open(&s->progress_line, &s->services, &s->host.rank_set);
    trainer_status_open(&s->trainer_status, &s->services, &s->host.rank_set);
    return 0;
}

/* Starts the role soon. If there was a fault, the first one is kept, and the role starts all the
 * same. */
static void begin_soon(struct supervisor *s) {
    loop_at(&s->loop, &s->begin, clock_now());
}

static void mpi_found(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (failure != NULL)
        s->fault = *failure;
    s->role->start(s->state);
}

/* Both run at the same time. Nothing waits for the trial of NCCL's plugin, while the role starts
 * only when Open MPI has been found. */
static void set_up_mpi(struct supervisor *s) {
    if (!s->check)
        plugin_trial_start(&s->plugin, &s->services);
    mpi_setup_start(&s->mpi_setup, &s->services, mpi_found, s);
}

/* Opens this host and checks it, once all inputs are here. */
static void find_rest(struct supervisor *s) {
    if (open_host(s, &s->fault) != 0)
        begin_soon(s);
    else
        set_up_mpi(s);
}

/* A child's warnings are logged as our own and so become events, too. They are recognised by the
 * mark in the lines of the log, which the child prints in the same form. Everything else goes to
 * the console as it is. */
static void child_line(void *context, const char *line, size_t size) {
    static const char mark[] = "] warning: ";
    struct supervisor *s = context;
    const char *at = memmem(line, size, mark, sizeof(mark) - 1);
    if (at != NULL) {
        at += sizeof(mark) - 1;
        log_warning("%.*s", (int)(line + size - 1 - at), at);
        return;
    }
    console_line(&s->console, line, size);
}

/* Checkpoints are uploaded while the job runs, so the child starts before the ranks. The result is
 * in s->fault, which the caller looks at. */
static void open_output_upload(struct supervisor *s) {
    if (upload_targets_upload(&s->job->settings))
        (void)output_upload_open(&s->output_upload, &s->services, child_line, s, &s->fault);
}

/* Tells the role that something is under way, before any progress is reported: hosts may then
 * connect and wait for each other. */
static void meet_soon(struct supervisor *s) {
    loop_at(&s->loop, &s->meet, clock_now());
}

static void meet(void *context) {
    struct supervisor *s = context;
    if (!s->judged)
        s->role->fetching(s->state);
}

/* Progress of a download or installation keeps this host from being given up by the master, which
 * has a deadline for hosts that say nothing. */
static void marked(void *context, const char *line, size_t size) {
    struct supervisor *s = context;
    fetch_progress_step(&s->mark, line, size);
    meet(s);
}

/* After a verdict there is nothing to continue with. The same holds for inputs_downloaded() below.
 */
static void installed(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (s->judged)
        return;
    if (failure == NULL) {
        find_rest(s);
        return;
    }
    s->fault = *failure;
    begin_soon(s);
}

/* The prefix, "[algo-1 pip] ", is for the log only. The role sees the line without it, as a mark of
 * progress. */
static void pip_line(void *context, const char *line, size_t size) {
    const char *prefix = memchr(line, ']', size);
    size_t front = prefix != NULL ? (size_t)(prefix + 2 - line) : 0;
    child_line(context, line, size);
    marked(context, line + front, size - front);
}

/* pip may print nothing for minutes while it builds a package; the count alone shows that it lives.
 */
static void pip_runs(void *context) {
    struct supervisor *s = context;
    s->mark.count++;
    meet(s);
}

static void install(struct supervisor *s) {
    const struct pip_install_options options = {
        .line = pip_line, .runs = pip_runs, .done = installed, .context = s};
    if (pip_install_start(&s->pip_install, &s->services, &options, &s->fault) != 0)
        begin_soon(s);
    else
        meet_soon(s);
}

/* Continues after the download. */
static void go_on(struct supervisor *s) {
    if (s->fault.code != 0)
        begin_soon(s);
    else if (pip_install_is_needed(s->job))
        install(s);
    else
        find_rest(s);
}

/* The program is resolved only now, because it may be part of the code that was downloaded. */
static void inputs_downloaded(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (s->judged)
        return;
    if (failure != NULL)
        s->fault = *failure;
    else if (s->job->sources.code != NULL)
        (void)job_resolve(s->job, s->arguments + s->job->once_per_host, s->environment, &s->fault);
    if (s->fault.code == 0)
        open_output_upload(s);
    go_on(s);
}

/* The key for sharing downloads is copied by input_download_start(). It is wiped here in any case,
 * as nothing else needs it. */
static void download_inputs(struct supervisor *s) {
    const struct input_download_options options = {
        .key = input_download_passes_on(s->job) ? s->contexts.pass_key : NULL,
        .line = child_line,
        .mark = marked,
        .done = inputs_downloaded,
        .context = s};
    int started = input_download_start(&s->input_download, &s->services, &options, &s->fault);
    explicit_bzero(s->contexts.pass_key, sizeof(s->contexts.pass_key));
    if (started != 0)
        begin_soon(s);
    else
        meet_soon(s);
}

/* The inputs have been here since the first life. They are neither downloaded nor installed again
 * in a later role. */
static void begin_again(struct supervisor *s) {
    open_output_upload(s);
    find_rest(s);
}

/* Opened early, so that every warning from here on becomes an event. */
static void open_event_log(struct supervisor *s) {
    const struct cluster *cluster = &s->job->cluster;
    event_log_open(&s->event_log, &s->loop, &s->reaper, s->job);
    event_log_put(&s->event_log, EVENT_LOG_STARTED,
                  json_pack("{s:s, s:s, s:I, s:I}", "version", RINGMASTER_VERSION, "role",
                            cluster_is_master(cluster) ? "master" : "worker", "hosts",
                            (json_int_t)cluster->count, "ranks",
                            (json_int_t)cluster_ranks(cluster)));
}

static void begin_metrics(struct supervisor *s) {
    const struct metrics_exporter_options options = {
        .rank_set = &s->host.rank_set, .measure = s->role->measure, .context = s->state};
    metrics_exporter_begin(&s->metrics_exporter, &s->services, &options);
}

/* Pointers to members, so S must not move. A test that uses a part alone calls this for a
 * supervisor that was never opened. */
void supervisor_share(struct supervisor *s) {
    s->services = (struct services){.loop = &s->loop,
                                    .reaper = &s->reaper,
                                    .sweep = &s->sweep,
                                    .job = s->job,
                                    .environment = s->environment,
                                    .local = &s->local,
                                    .mpi_install = &s->mpi_install,
                                    .console = &s->console,
                                    .failure = &s->failure,
                                    .event_log = &s->event_log,
                                    .role_state = s->role_state};
}

/* Gives the job's output folders to the user that programs run as. A program that runs as another
 * user could not write into folders that root has made. */
static int give_output_folders(const struct supervisor *s, struct error *err) {
    static const char *const names[] = {"model", "checkpoints", "output", "output/data"};
    return run_as_give_folders(s->job->settings.base_dir, names, sizeof(names) / sizeof(names[0]),
                               err);
}

/* The order matters. This process becomes a subreaper before it has any child, so that none is lost
 * to another parent. The loop comes before all parts that watch something. Consoles come before the
 * parts that log. The key is hidden in the environment once the TLS contexts are made from it, and
 * before any program is started.
 *
 * An error in `options` is the first fault and stays the one that is reported, whatever fails after
 * it. On failure the caller calls supervisor_close(), as after success. */
int supervisor_open(struct supervisor *s, const struct supervisor_options *options,
                    const struct role *role, void *state, struct error *err) {
    *s = (struct supervisor){
        .job = options->job, .environment = options->environment, .role = role, .state = state};
    s->arguments = options->arguments;
    s->role_state = options->role_state;
    s->check = options->check;
    supervisor_share(s);
    s->begin = (struct timer){.fire = begin, .context = s};
    s->meet = (struct timer){.fire = meet, .context = s};
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "becoming a subreaper");
    if (loop_init(&s->loop, err) != 0 || handle_signals(s, err) != 0)
        return -1;
    console_init(&s->console, &s->loop, STDOUT_FILENO);
    log_console_open(&s->log_console, &s->loop, STDERR_FILENO, &s->console);
    open_event_log(s);
    failure_writer_open(&s->failure, &s->reaper, s->job->settings.base_dir);
    s->failure.check = s->check;
    failure_writer_prepare(&s->failure);
    begin_metrics(s);
    if (tls_contexts_open(&s->contexts, s->job, s->role_state, err) != 0) {
        if (options->fault != NULL)
            *err = *options->fault; /* the first fault, which may be the cause */
        return -1;
    }
    key_hide(s->environment);
    if (options->fault != NULL)
        s->fault = *options->fault;
    /* Folders are given to a user that has been chosen before. The limit of descriptors is raised
     * before the job opens any listener. */
    if (options->fault != NULL || run_as_choose(s->job->settings.user, &s->fault) != 0 ||
        give_output_folders(s, &s->fault) != 0 ||
        fd_budget_raise(&s->job->cluster, &s->fault) != 0 ||
        (!s->check && metrics_exporter_listen(&s->metrics_exporter, &s->fault) != 0))
        begin_soon(s);
    else if (role_state_is_again(s->role_state))
        begin_again(s);
    else if (input_download_is_needed(s->job) && !options->check)
        download_inputs(s);
    else if (options->check)
        find_rest(s);
    else
        go_on(s);
    if (options->begun != NULL)
        *options->begun = true;
    return 0;
}

/* Returns the code of the verdict. It is 0 after supervisor_follow(), when there is none: the
 * caller then begins the next role (master/role_loop.c). */
int supervisor_run(struct supervisor *s, int *ret_code, struct error *err) {
    if (loop_run(&s->loop, err) != 0)
        return -1;
    *ret_code = s->verdict.code;
    return 0;
}

/* Closes in the reverse order of opening. First comes what belongs to a check, then what
 * set_up_mpi() and open_host() opened. What was needed before that follows (installing, uploading,
 * downloading), and at last what supervisor_open() itself opened. Every part may be one that was
 * never opened, as a fault may have come at any time. tests/lint/mirror.py compares both orders.
 *
 * Two parts log as they close (failure_writer.h, event_log.h), so the log's console is closed after
 * them. What waits in both consoles is written before either is closed, programs' lines first. */
void supervisor_close(struct supervisor *s) {
    preflight_probe_close(&s->preflight_probe);
    mpi_install_done(&s->mpi_install);
    mpi_setup_close(&s->mpi_setup);
    device_probe_close(&s->plugin);
    trainer_status_close(&s->trainer_status);
    progress_line_close(&s->progress_line);
    executor_done(&s->host);
    control_socket_close(&s->local);
    pip_install_close(&s->pip_install);
    output_upload_close(&s->output_upload);
    input_download_close(&s->input_download);
    tls_contexts_close(&s->contexts);
    metrics_exporter_close(&s->metrics_exporter);
    failure_writer_close(&s->failure);
    event_log_close(&s->event_log);
    int64_t deadline = clock_now() + FLUSH_SECONDS * CLOCK_SECOND;
    console_flush(&s->console, deadline);
    log_console_close(&s->log_console, deadline);
    console_done(&s->console);
    loop_done(&s->loop);
}
