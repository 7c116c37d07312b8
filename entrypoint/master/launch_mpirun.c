#include "entrypoint/master/launch_mpirun.h"

#include "common/argv.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/master/launch_way.h"
#include "entrypoint/mpi/addresses.h"
#include "entrypoint/mpi/ucx.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/wire/message.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* mpirun runs on this host as the job's user and starts one daemon on each other host with ranks.
 * It would do so by ssh; instead it is set to run `ringmaster` as its remote-launch agent, once
 * per host. An agent connects to this supervisor (launch_agent), which sends the daemon's command
 * to that host over the link that exists already. The host reports when its daemon has ended
 * (launch_daemon_ended), and the agent then exits with the same code, as ssh would.
 *
 * Agents and daemons may fail in any order, and mpirun's output repeats it in its own words. The
 * reports of ranks come first; what is seen here fills in only what they leave unexplained
 * (attempt_note_tool).
 *
 * The lines of mpirun are read for its first and last words, errors that MPI reports of the
 * program, and connections that Open MPI drops because addresses are translated. */

/* In bytes. WORDS_MAX bounds how much of mpirun's output the verdict can quote. */
enum { HOSTFILE_MAX = 512 * 1024, WORDS_MAX = 4096 };

/* Writes the hostfile next to the control socket and returns its PATH. mpirun reads it as the job's
 * user, so the file is given to that user. A kernel host name that this series of Open MPI cannot
 * take, and hosts without distinct addresses of one family, are errors here, before any rank has
 * started. */
static int write_hostfile(const struct master *m, char path[CONTROL_SOCKET_FILE_SIZE],
                          struct error *err) {
    char name[HOST_NAME_MAX + 1];
    cleanup_buf struct buf text;
    buf_init(&text, HOSTFILE_MAX);
    control_socket_file(&m->s.local, "hostfile", path);
    if (gethostname(name, sizeof(name)) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the kernel's host name");
    if (openmpi_check_kernel_name(m->s.mpi_install.version.series, name, err) != 0 ||
        addresses_check(&m->s.job->cluster, name, err) != 0 ||
        openmpi_hostfile(&m->s.job->cluster, &text, err) != 0)
        return -1;
    return file_put(path, text.data, text.size, 0600, err) == 0 ? run_as_give(path, err) : -1;
}

/* Decides for each attempt, by its hosts. Spares are not counted. If the user passes MPI
 * parameters, they take precedence (ucx.h). */
static bool choose_ucx(const struct master *m) {
    const struct cluster *c = &m->s.job->cluster;
    struct ucx_hosts hosts = {0};
    struct ucx_choice choice;
    for (size_t i = 0; i < c->count; i++) {
        const struct host_info *f = &m->members[i].info;
        bool counts = cluster_has_ranks(&c->hosts[i]);
        hosts.all += counts;
        hosts.with_device += counts && f->device;
        hosts.with_component += counts && f->ucx;
    }
    bool options = openmpi_has_parameters(m->s.job->request.mpi_options.options, NULL) != 0;
    ucx_choose(&hosts, options, &choice);
    if (choice.worse)
        log_warning("%s", choice.said);
    else if (choice.said[0] != '\0')
        log_info("%s", choice.said);
    return choice.taken;
}

/* Fills in what the executor's part of the request leaves open: hostfile, agent and UCX. SELF is
 * this program, which is also the agent. */
static int mpirun_command(const struct master *m, const char *self, struct argv *ret,
                          struct error *err) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char hostfile[CONTROL_SOCKET_FILE_SIZE];
    struct openmpi_request request;
    mpi_daemon_request(&m->s.host.daemon, agent, &request);
    if (write_hostfile(m, hostfile, err) != 0)
        return -1;
    request.hostfile = hostfile;
    request.ringmaster = self;
    request.ucx = choose_ucx(m);
    return openmpi_command(&request, ret, err);
}

/* Leaves RET as it is if there is no memory for the text: the verdict then lacks a quotation. */
void launch_words(const struct master *m, struct buf *ret) {
    cleanup_buf struct buf text;
    buf_init(&text, WORDS_MAX);
    if (mpirun_banner_text(&m->launch.banner, &m->launch.mpirun.tail, &text, NULL) == 0)
        (void)addresses_to_names(&m->s.job->cluster, buf_text(&text), text.size, ret, NULL);
}

void launch_mpi_error_text(const struct master *m, struct buf *ret) {
    const char *text = m->launch.mpi_error.text;
    (void)addresses_to_names(&m->s.job->cluster, text, strlen(text), ret, NULL);
}

/* Only the first dropped rank of an attempt is a failure; later ones are its consequence. */
static void drop(struct master *m, int64_t rank, const struct net_address *source) {
    if (attempt_drop(&m->attempt, rank, source, clock_boot()))
        master_raise(m, EVENT_FAILURE);
}

/* mpirun has dropped a rank's connection. If the addresses of a host are known to be translated,
 * that is the reason. */
static void guess_dropped(struct master *m) {
    for (size_t rank = 0; rank < m->attempt.ranks; rank++) {
        const struct member *b = &m->members[m->attempt.rank_host[rank]];
        if (net_address_is_set(&b->sends)) {
            drop(m, (int64_t)rank, &b->address);
            return;
        }
    }
}

/* After a failure mpirun's output repeats what is known better here, except for MPI errors of the
 * program. */
static void line(void *context, const char *text, size_t size) {
    struct master *m = context;
    size_t prefix = strlen(m->launch.mpirun.error_out.lines.prefix);
    bool tells = false;
    bool drops = false;
    bool garbled = false;
    if (size > prefix) {
        mpirun_banner_add(&m->launch.banner, text + prefix, size - prefix - 1);
        tells = mpi_error_text_add(&m->launch.mpi_error, text + prefix, size - prefix - 1);
        drops = dropped_add(&m->launch.dropped, text + prefix, size - prefix - 1);
        garbled = dropped_is_garbled(text + prefix, size - prefix - 1);
    }
    /* Everything is parsed above, whatever is shown. */
    if (!m->attempt.ending || tells)
        executor_tool_line(&m->s.host, text, size);
    if (drops)
        drop(m, m->launch.dropped.rank, &m->launch.dropped.source);
    else if (garbled)
        guess_dropped(m);
}

/* If mpirun asked for what was refused, its agent exits with a code, mpirun ends, and the note says
 * why. Returns true for a failure, which is to be raised. A refusal is logged as a warning and
 * raises nothing: a stranger may have asked, and if it was mpirun, its end follows. */
static bool note(struct master *m, const struct attempt_tool *tool) {
    /* The note is part of the verdict only if the reports do not explain the end. */
    enum attempt_note noted = attempt_note_tool(&m->attempt, tool);
    if (noted == ATTEMPT_NOTE_REFUSAL)
        log_warning("%s", m->attempt.tool_note);
    if (noted == ATTEMPT_NOTE_FAILURE)
        log_error("%s", m->attempt.tool_note);
    return noted == ATTEMPT_NOTE_FAILURE;
}

/* mpirun's exit code adds nothing to the reports of its ranks, but a signal that killed it does. */
static void ended(void *context, int code) {
    struct master *m = context;
    const struct attempt_tool tool = {.host_name = member_name(&m->members[0]),
                                      .name = "mpirun",
                                      .code = code,
                                      .signal = m->launch.mpirun.signal,
                                      .memory = rank_set_memory(&m->s.host.rank_set),
                                      .time = clock_boot(),
                                      .refusal = ""};
    /* A signal of this program's own, after the ranks did not start in time, is no news. */
    bool killed = tool.signal > 0 && !m->launch.given_up;
    bool failed = killed && note(m, &tool);
    attempt_mpirun_ended(&m->attempt, code);
    log_debug("mpirun ended with %d", code);
    master_raise(m, failed ? EVENT_FAILURE : EVENT_MPIRUN_ENDED);
}

/* Starts mpirun; ended() is called when it is over. On failure nothing runs, and the error becomes
 * LAUNCH_FAILED (dispatch.c). */
static int begin(struct master *m, struct error *err) {
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    char self[CONTROL_SOCKET_FILE_SIZE];
    char prefix[LINE_SPLITTER_PREFIX_SIZE];
    const struct mpi_install *mpi_install = &m->s.mpi_install;
    if (file_self(self, sizeof(self), err) != 0 ||
        mpi_daemon_open_scratch(&m->s.host.daemon, err) != 0 ||
        mpi_daemon_environment(&m->s.host.daemon, &environment, err) != 0 ||
        mpirun_command(m, self, &argv, err) != 0)
        return -1;
    (void)snprintf(prefix, sizeof(prefix), "[%s mpirun] ", supervisor_own_name(&m->s));
    /* mpirun passes none of the user's signals on: each host does so for its own ranks. */
    struct subprocess_options options = {.prefix = prefix,
                                         .line = line,
                                         .ended = ended,
                                         .context = m,
                                         .as_user = true,
                                         .hold_user_signals = true};
    if (subprocess_start(&m->launch.mpirun, &m->s.loop, &m->s.reaper, &argv, &environment, &options,
                         err) != 0)
        return -1;
    log_info("mpirun is %s, of Open MPI %u.%u.%u", mpi_install->mpirun, mpi_install->version.major,
             mpi_install->version.minor, mpi_install->version.release);
    log_info("mpirun starts the ranks, because %s", m->s.job->launcher.why);
    return 0;
}

/* An agent has nothing to say after its first message. */
static void agent_said(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

/* mpirun has ended the agent, or it has left: the place is free for the host's next one. */
static void agent_closed(void *context, const struct error *why) {
    struct member *b = context;
    (void)why;
    link_free(b->agent);
    b->agent = NULL;
}

static const struct link_events agent_events = {.message = agent_said, .closed = agent_closed};

/* The agent exits with CODE, as ssh exits with that of its command. */
static void leave(struct link *link, int code) {
    json_t *message = message_new(MESSAGE_LEAVE);
    (void)json_object_set_new(message, "code", json_integer(code));
    link_send(link, message);
}

void launch_agent_leave(struct member *b, int code) {
    if (b->agent != NULL)
        leave(b->agent, code);
}

/* Returns NULL if mpirun may have started this agent, else why it cannot have. Open MPI starts
 * ranks only when all daemons have reported, so an agent that comes after the first rank was
 * started by a program. */
static const char *refusal(const struct master *m, int host, const json_t *message) {
    if (m->phase != PHASE_RUNNING ||
        json_integer_value(json_object_get(message, "attempt")) != m->attempt.number)
        return "it is of another attempt";
    if (m->attempt.direct)
        return "the ranks of this attempt are started without mpirun";
    if (m->attempt.started_count > 0 || m->s.host.rank_set.started)
        return "ranks have started";
    if (host < 1 || !cluster_has_ranks(&m->s.job->cluster.hosts[host]))
        return "mpirun starts no daemon there";
    if (!json_is_string(json_object_get(message, "command")))
        return "it has no command";
    return m->members[host].agent != NULL ? "another agent is waiting for that host" : NULL;
}

/* A process of the program can reach the control socket, too, so the request may come from anyone:
 * refusal() decides. The warning about a refused one is given once per attempt, or a program could
 * fill the log. An agent for a lost host leaves at once, so that mpirun does not wait for its
 * daemon. */
void launch_agent(struct master *m, struct link *link, const json_t *message) {
    const char *address = json_string_value(json_object_get(message, "host"));
    json_t *command = json_object_get(message, "command");
    int host = address != NULL ? addresses_find(&m->s.job->cluster, address) : -1;
    const char *why = refusal(m, host, message);
    if (why != NULL) {
        link_free(link);
        if (!m->launch.agent_warned)
            log_warning(
                "a process here asked for a daemon on %.64s and was refused: %s",
                host >= 0 ? supervisor_host_name(&m->s, (size_t)host) : "no host of this job", why);
        m->launch.agent_warned = true;
        return;
    }
    struct member *b = &m->members[host];
    b->agent = link;
    link_own(link, &agent_events, b);
    if (b->lost) {
        launch_agent_leave(b, EXIT_CODE_HOST_LOST);
        return;
    }
    json_t *order = message_new(MESSAGE_LAUNCH);
    (void)json_object_set(order, "command", command);
    master_send(m, (size_t)host, order);
}

/* Returns the member NAME of MESSAGE if it is a number from 0 to MOST, else 0. */
static int64_t number_of(const json_t *message, const char *name, int64_t most) {
    json_int_t number = json_integer_value(json_object_get(message, name));
    return number >= 0 && number <= most ? number : 0;
}

/* Times of the host are moved to this host's clock. A code beyond a byte, a signal that does not
 * exist and other numbers out of range are cut or set to 0: the message comes from another machine.
 */
void launch_daemon_ended(struct member *b, const json_t *message) {
    struct master *m = b->master;
    int64_t code = EXIT_CODE_INTERNAL;
    const char *text = NULL;
    (void)json_member_int(message, "daemon", "code", &code, NULL);
    (void)json_member_string(message, "daemon", "text", &text, NULL);
    int64_t time = number_of(message, "time", RANK_REPORT_TIME_MAX);
    const struct attempt_tool tool = {
        .host = (unsigned)b->index,
        .host_name = member_name(b),
        .name = openmpi_daemon(m->s.mpi_install.version.series),
        .code = (int)(code & 0xFF),
        .signal = (int)number_of(message, "signal", RANK_REPORT_SIGNAL_MAX),
        .memory = (enum rank_memory)number_of(message, "memory", RANK_MEMORY_KILLED),
        /* Without a time of its own the daemon has ended when the message came. */
        .time = time > 0 ? time - b->offset : clock_boot(),
        .refusal = text != NULL ? text : ""};
    launch_agent_leave(b, tool.code);
    if (note(m, &tool))
        master_raise(m, EVENT_FAILURE);
}

static void signal_mpirun(struct master *m, int number) {
    subprocess_signal(&m->launch.mpirun, number);
}

static void close_mpirun(struct master *m) {
    subprocess_done(&m->launch.mpirun);
    m->launch.mpirun = (struct subprocess){0};
    m->launch.banner = (struct mpirun_banner){0};
    m->launch.mpi_error = (struct mpi_error_text){0};
    m->launch.dropped = (struct dropped){0};
    m->launch.agent_warned = false;
    for (size_t i = 0; m->members != NULL && i < m->s.job->cluster.count; i++) {
        link_free(m->members[i].agent);
        m->members[i].agent = NULL;
    }
}

const struct launch_way launch_mpirun = {
    .begin = begin, .signal = signal_mpirun, .close = close_mpirun};
