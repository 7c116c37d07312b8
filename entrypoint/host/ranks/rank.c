#include "entrypoint/host/ranks/rank.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/run_id.h"
#include "common/system/process_guard.h"
#include "common/system/progress.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/host/ranks/jax_environment.h"
#include "entrypoint/host/ranks/launch_spec.h"
#include "entrypoint/host/ranks/shim.h"
#include "entrypoint/host/ranks/tf_environment.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/machine/nic_environment.h"
#include "entrypoint/job/stop_signals.h"
#include "entrypoint/job/user_program.h"
#include "entrypoint/mpi/shm_transport.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/os/user_signals.h"
#include "entrypoint/outcome/error_file.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/message.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A shim is started by mpirun, or by its supervisor, in the place of the program. It registers, and
 * waits for `start`, which comes when all ranks of the host have registered. Then it is the
 * program's parent: it alone sees how the program ends, and reports that.
 *
 * It outlives the program by up to a second (LEAVE_SECONDS), because its own end makes mpirun end
 * all other ranks. The master learns first why, and decides; it then lets the shim go (`leave`). In
 * a stop there is no such limit.
 *
 * The shim runs as the programs' user. Inspection of it is forbidden, so that no program reads or
 * changes the process that reports its end. */

/* Time for the master to learn why the program ended, and to let this process go. */
enum { LEAVE_SECONDS = 1 };

static void close_fd(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Signals the program's process group, which lives as long as any process in it. This also reaches
 * the program's children. After the program's end it cannot hit other processes, because its pid
 * stays reserved until it is reaped. */
static void signal_program(const struct shim *s, int number) {
    if (s->running)
        (void)kill(-s->program.pid, number);
}

/* Passes a user signal to the program only: its children may have no handler. */
static void pass_on(const struct shim *s, int64_t number) {
    if (s->running && number > 0 && number < NSIG && user_signals_has((int)number))
        (void)kill(s->program.pid, (int)number);
}

/* Sends the report, once the program has ended or could not be started. The last exception is read
 * from the error file only after a failure: a program that ends well may have left one that it has
 * caught. */
static void report(struct shim *s, enum rank_end end, int value) {
    struct rank_report r = {
        .rank = s->place.rank, .end = end, .value = value, .cause = s->cause, .time = clock_boot()};
    char exception[ERROR_FILE_LINE_SIZE] = "";
    if (s->error_file[0] != '\0' && s->code != 0)
        (void)error_file_read(s->error_file, &s->folders, exception);
    (void)snprintf(r.evidence, sizeof(r.evidence), "%s", exception);
    json_t *message = message_new(MESSAGE_REPORT);
    cleanup_json json_t *members = rank_report_json(&r);
    if (message != NULL && members != NULL)
        (void)json_object_update(message, members);
    link_send(s->link, message);
    link_flush(s->link); /* what follows may end the loop before it writes */
    s->ended = true;
    /* In a stop the other ranks may still be writing a checkpoint, and leaving would end them. */
    if (s->cause != RANK_CAUSE_STOP)
        loop_after(&s->loop, &s->leave, LEAVE_SECONDS * CLOCK_SECOND);
}

/* STATUS is that of waitpid(). The shim's own exit code becomes the program's: mpirun passes it on.
 */
static void program_ended(void *context, int status) {
    struct shim *s = context;
    s->running = false;
    s->code = child_exit_code(status);
    if (WIFSIGNALED(status))
        report(s, RANK_SIGNALLED, WTERMSIG(status));
    else
        report(s, RANK_EXITED, WEXITSTATUS(status));
}

/* The supervisor has not let this process go in time. */
static void leave_now(void *context) {
    struct shim *s = context;
    loop_end(&s->loop);
}

/* Gives the program an error file beside the control socket, where files are removed with the job,
 * unless the job has set one. A file of that name is removed first: nothing of an earlier process
 * may pass for this one's. Without room for the path there is no file, which is no error. */
static int add_error_file(struct shim *s, struct argv *environment, struct error *err) {
    const char *socket = getenv(CONTROL_SOCKET_VARIABLE);
    const char *slash = socket != NULL ? strrchr(socket, '/') : NULL;
    if (slash == NULL || argv_get_env(environment, ERROR_FILE_VARIABLE) != NULL)
        return 0;
    int size = snprintf(s->error_file, sizeof(s->error_file), "%.*s/error-%u-%u",
                        (int)(slash - socket), socket, s->place.attempt, s->place.rank);
    if (size < 0 || (size_t)size >= sizeof(s->error_file)) {
        s->error_file[0] = '\0';
        return 0;
    }
    (void)unlink(s->error_file);
    return argv_set_env(environment, ERROR_FILE_VARIABLE, s->error_file, err);
}

/* Completes the program's environment. The base is that of the host's programs (launch_spec.h).
 * START has what only the supervisor knows, such as the master's address, and the shim's own
 * environment what mpirun has given this rank. */
static int build_environment(struct shim *s, const json_t *start, struct argv *ret,
                             struct error *err) {
    const char *master = NULL;
    const char *interface = NULL;
    const char *mapping = NULL;
    int64_t port = 0;
    int64_t coordinator_port = 0;
    if (json_member_string(start, "start", "master_addr", &master, err) != 0 ||
        json_member_int(start, "start", "master_port", &port, err) != 0 ||
        json_member_int(start, "start", "coordinator_port", &coordinator_port, err) != 0 ||
        json_member_string(start, "start", "interface", &interface, err) != 0 ||
        json_member_string(start, "start", "pmi", &mapping, err) != 0)
        return -1;
    if (master == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the supervisor's start lacks its members");
    if (environment_add_rank(ret, s->environment, master, (unsigned)port, err) != 0 ||
        jax_environment_add(&s->place, master, (unsigned)coordinator_port,
                            accelerators_gpus("/dev"), ret, err) != 0 ||
        tf_environment_add_rank(&s->place, ret, err) != 0)
        return -1;
    if (interface != NULL && nic_environment_add(interface, "", ret, err) != 0)
        return -1;
    /* A single rank may use MPI, as there is no other that it could miss. */
    if (s->direct && s->place.size > 1 && rank_environment_refuse_mpi(ret, err) != 0)
        return -1;
    if (mapping != NULL &&
        rank_pmi_open(&s->pmi, &s->loop, s->link, &s->place,
                      argv_get_env(ret, ATTEMPT_RUN_VARIABLE), mapping, ret, err) != 0)
        return -1;
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", s->progress);
    return s->progress >= 0 ? argv_set_env(ret, PROGRESS_VARIABLE, path, err) : 0;
}

/* Chooses how ranks share memory. The host's first rank reports the choice, once. Only mpirun's
 * ranks on a host with several need it. The choice is made in each shim alike, from facts of the
 * host. */
static int add_memory(struct shim *s, struct argv *environment, struct error *err) {
    struct shm_transport_facts facts;
    struct shm_transport_choice choice;
    if (s->place.local_size <= 1 || s->direct)
        return 0;
    shm_transport_look(s->environment, &facts);
    if (shm_transport_add(&facts, s->place.local_size, s->environment, environment, &choice, err) !=
        0)
        return -1;
    if (s->place.local_rank > 0 || choice.said[0] == '\0')
        return 0;
    json_t *message = message_new(MESSAGE_MEMORY);
    (void)json_object_set_new(message, "text", json_string(choice.said));
    (void)json_object_set_new(message, "worse", json_boolean(choice.worse));
    link_send(s->link, message);
    return 0;
}

/* The specification comes as a descriptor with the message. On failure ERR says why, in words for
 * the user, and no process is left.
 *
 * The program gets a process group of its own, the writing ends of both pipes, and SIGKILL when
 * this process ends (death_signal). */
static int start_program(struct shim *s, const json_t *start, struct error *err) {
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv program = {0};
    cleanup_free char *file = NULL;
    const char *directory = NULL;
    int64_t open_files = 0;
    cleanup_fd int spec = link_take_fd(s->link);
    if (launch_spec_read(spec, &environment, &program, err) != 0 ||
        add_memory(s, &environment, err) != 0 || add_error_file(s, &environment, err) != 0 ||
        build_environment(s, start, &environment, err) != 0 ||
        json_member_string(start, "start", "directory", &directory, err) != 0 ||
        json_member_int(start, "start", "open_files", &open_files, err) != 0)
        return -1;
    if (directory != NULL && chdir(directory) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "the program's folder %s", directory);
    /* After chdir(), as the program may be named by a relative path. */
    traceback_folders_here(&program, NULL, &s->folders);
    if (user_program_find(program.items[0], argv_get_env(&environment, "PATH"), &file, err) != 0)
        return -1;
    struct child_options options = {.file = file,
                                    .argv = program.items,
                                    .environment = environment.items,
                                    .out = s->out[1],
                                    .error_out = s->error_out[1],
                                    .group = CHILD_NEW_GROUP,
                                    .keep = {s->progress, s->pmi.fd},
                                    .death_signal = SIGKILL,
                                    .open_files = (uint64_t)open_files};
    if (child_spawn(&options, &s->program.pid, err) != 0)
        return -1;
    reaper_add(&s->reaper, &s->program);
    s->running = true;
    return 0;
}

/* Starts the program. If that fails, the reason goes where the program's output would have gone.
 * The writing ends are closed here in any case: the supervisor sees the end of a stream only if no
 * process holds it. */
static void start(struct shim *s, const json_t *message) {
    struct error err = {0};
    if (start_program(s, message, &err) != 0) {
        (void)dprintf(s->error_out[1], "ringmaster: %s\n", err.text);
        s->code = (int)err.code;
        report(s, RANK_EXITED, (int)err.code);
    }
    rank_pmi_started(&s->pmi);
    close_fd(&s->out[1]);
    close_fd(&s->error_out[1]);
}

/* The cause of any later end of the program is the teardown. The report to the supervisor is sent
 * at once, because mpirun may kill this process before it can report. Without a program there is
 * nothing to wait for. */
static void tear_down(struct shim *s) {
    if (s->cause == RANK_CAUSE_NONE && !s->ended) {
        s->cause = RANK_CAUSE_TEARDOWN;
        link_send(s->link, message_new(MESSAGE_TEARDOWN));
        link_flush(s->link);
    }
    signal_program(s, SIGTERM);
    if (!s->running)
        loop_end(&s->loop);
}

/* From a stop on, this process stays until the supervisor lets it go: the other ranks may need
 * longer. An end that is a teardown already stays one. */
static void be_stopped(struct shim *s) {
    loop_cancel(&s->loop, &s->leave);
    if (s->running && s->cause == RANK_CAUSE_NONE)
        s->cause = RANK_CAUSE_STOP;
}

/* Sends the program a signal of the user's choice. A signal that ends processes also goes to
 * children that have left the program's group. One for checkpoints goes to the program alone, as a
 * process without a handler would die of it. */
static void deliver(const struct shim *s, int number) {
    if (!stop_signals_reach_children(number)) {
        if (s->running)
            (void)kill(s->program.pid, number);
        return;
    }
    signal_program(s, number);
    (void)process_tree_signal_outside(number, s->program.pid);
}

/* The signal in a message; SIGTERM if it is none that a job may be stopped with. */
static int number_of(const json_t *message) {
    json_int_t number = json_integer_value(json_object_get(message, "number"));
    return stop_signals_has(number) ? (int)number : SIGTERM;
}

/* `stop` is the master's order for the whole job, so the order of steps matters: the cause is set
 * before the program can end of the signal. */
static void stop(struct shim *s, const json_t *message) {
    be_stopped(s);
    deliver(s, number_of(message));
}

/* Without `stops` the job continues, and this process leaves as usual. */
static void warn(struct shim *s, const json_t *message) {
    if (json_is_true(json_object_get(message, "stops")))
        be_stopped(s);
    deliver(s, number_of(message));
}

/* Orders may come in any state, as the program may have ended while they were under way. */
static void hear(void *context, const json_t *message) {
    struct shim *s = context;
    switch (message_kind(message)) {
    case MESSAGE_START:
        s->direct = json_is_true(json_object_get(message, "direct"));
        if (!s->running && !s->ended)
            start(s, message);
        break;
    case MESSAGE_STOP:
        stop(s, message);
        break;
    case MESSAGE_WARN:
        warn(s, message);
        break;
    case MESSAGE_END:
        if (!s->ended)
            tear_down(s);
        break;
    case MESSAGE_KILL:
        signal_program(s, SIGKILL);
        if (!s->running)
            loop_end(&s->loop);
        break;
    case MESSAGE_SIGNAL:
        pass_on(s, json_integer_value(json_object_get(message, "number")));
        break;
    case MESSAGE_PAIRS:
        rank_pmi_pairs(&s->pmi, message);
        break;
    case MESSAGE_PASSED:
        rank_pmi_passed(&s->pmi);
        break;
    case MESSAGE_LEAVE:
        if (!s->running)
            loop_end(&s->loop);
        break;
    default:
        break;
    }
}

/* Without a supervisor no process receives reports, and no process may outlive it. */
static void supervisor_gone(void *context, const struct error *why) {
    struct shim *s = context;
    (void)why;
    signal_program(s, SIGKILL);
    if (s->code == 0)
        s->code = EXIT_CODE_INTERNAL;
    loop_end(&s->loop);
}

const struct link_events shim_events = {.message = hear, .closed = supervisor_gone};

/* SIGTERM and SIGINT come from mpirun or its daemon, which end the job, and so do the user signals
 * that mpirun passes on. Without mpirun nothing signals a shim with a running program but a user,
 * who means that. Without a program it leaves in any case, as at the end of a job. */
static void on_signal(void *context, int number) {
    struct shim *s = context;
    if (number == SIGCHLD) {
        (void)reaper_run(&s->reaper);
    } else if (user_signals_has(number)) {
        pass_on(s, number);
    } else if (s->direct && s->running) {
        signal_program(s, number);
    } else {
        tear_down(s);
    }
}

static int handle_signals(struct shim *s, struct error *err) {
    sigset_t set;
    user_signals_handled(&set);
    return loop_signals(&s->loop, &set, on_signal, s, err);
}

/* The reading ends of the pipes go to the supervisor with the message and are closed here. The link
 * takes over the socket; until then it blocks, so that the message is sent whole. */
static int say_hello(struct shim *s, struct error *err) {
    struct error
        ignored; /* without it a stall cannot be detected, which is no reason to fail a rank */
    s->progress = progress_create(&ignored);
    if (pipe2(s->out, O_CLOEXEC) != 0 || pipe2(s->error_out, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "pipes for the program's output");
    cleanup_fd int socket = control_socket_connect(getenv(CONTROL_SOCKET_VARIABLE), err);
    if (socket < 0)
        return -1;
    cleanup_json json_t *hello = message_new(MESSAGE_HELLO);
    (void)json_object_set_new(hello, "rank", json_integer(s->place.rank));
    (void)json_object_set_new(hello, "attempt", json_integer(s->place.attempt));
    (void)json_object_set_new(hello, "pid", json_integer(getpid()));
    int fds[LINK_FDS_MAX] = {s->out[0], s->error_out[0], s->progress};
    if (link_send_fds(socket, hello, fds, s->progress >= 0 ? 3 : 2, err) != 0)
        return -1;
    close_fd(&s->out[0]);
    close_fd(&s->error_out[0]);
    s->link = link_new(&s->loop, take_fd(&socket), NULL, false, &shim_events, s, err);
    return s->link != NULL ? 0 : -1;
}

/* The link goes before the loop that watches it. */
static void shim_done(struct shim *s) {
    rank_pmi_close(&s->pmi);
    link_free(s->link);
    loop_done(&s->loop);
    for (int i = 0; i < 2; i++) {
        close_fd(&s->out[i]);
        close_fd(&s->error_out[i]);
    }
    close_fd(&s->progress);
}

int rank_run(char *const *environment, int *ret_code, struct error *err) {
    struct shim s = {
        .environment = environment, .out = {-1, -1}, .error_out = {-1, -1}, .progress = -1};
    s.program = (struct child){.ended = program_ended, .context = &s};
    s.leave = (struct timer){.fire = leave_now, .context = &s};
    process_guard_forbid_inspection(); /* this process reports how the program ended */
    (void)signal(SIGPIPE, SIG_IGN);
    /* Processes that leave the program's group or lose their parents stay below this process, so
     * that a stop finds them. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = -1;
    if (rank_environment_read(environment, &s.place, err) == 0 && loop_init(&s.loop, err) == 0 &&
        handle_signals(&s, err) == 0 && say_hello(&s, err) == 0)
        result = loop_run(&s.loop, err);
    *ret_code = s.code;
    shim_done(&s);
    return result;
}
