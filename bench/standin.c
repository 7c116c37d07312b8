/* What a supervisor sees of Open MPI 4.1, and nothing else of it: by the name `mpirun` it starts a
 * daemon on every host through the agent, by the name `orted` it is that daemon, which starts the
 * host's ranks when all daemons have reported, and waits for them. No MPI, and a hundredth of the
 * memory and time, so that a machine holds a thousand hosts (supervisors.sh).
 *
 *     mpirun --version
 *     mpirun ... --hostfile FILE ... --mca NAME VALUE ... PROGRAM WORD
 *     orted --mca NAME VALUE ...
 *
 * Over a daemon's connection mpirun sends one line, "FIRST COUNT SIZE PROGRAM WORD", and the daemon
 * one byte when its ranks have ended. Closing the connection ends the other side. */
#include "common/argv.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOSTS_MAX = 1024, LINE_MAX_SIZE = 512, COMMAND_MAX = 128 * 1024, HOSTFILE_MAX = 512 * 1024 };

struct standin_host {
    char address[64];
    unsigned slots;
};

struct run {
    struct standin_host hosts[HOSTS_MAX];
    size_t count;
    unsigned ranks;
    struct argv parameters; /* NAME, VALUE, NAME, VALUE ... */
    const char *agent;
    const char *hostfile;
    const char *program;
    const char *word;
    int port;
    int listener;
    struct pollfd daemons[HOSTS_MAX]; /* in the order in which they came */
    size_t came;
    size_t done;
};

static volatile sig_atomic_t stopped;

static void stop(int number) {
    stopped = number;
}

static void note(int number) {
    (void)number;
}

/* Waits are cut short by it, and by the end of a child, which is heard of there alone (await_any).
 */
static void set_signal_handlers(void) {
    const struct sigaction stops = {.sa_handler = stop};
    const struct sigaction ends = {.sa_handler = note};
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    (void)sigaction(SIGTERM, &stops, NULL);
    (void)sigaction(SIGINT, &stops, NULL);
    (void)sigaction(SIGCHLD, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* How many of FDS have something to say; -1: a signal came, or an error. */
static int await_any(struct pollfd *fds, size_t count) {
    sigset_t none;
    (void)sigemptyset(&none);
    return ppoll(fds, (nfds_t)count, NULL, &none);
}

static pid_t fork_child(void) {
    sigset_t none;
    pid_t child = fork();
    (void)sigemptyset(&none);
    if (child == 0)
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return child;
}

/* --- ranks ----------------------------------------------------------------------------------- */

static void set_number(const char *name, unsigned value) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", value);
    (void)setenv(name, text, 1);
}

static void start_ranks(unsigned first, unsigned count, unsigned size, const char *program,
                        const char *word) {
    for (unsigned i = 0; i < count; i++) {
        if (fork_child() != 0)
            continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        set_number("OMPI_COMM_WORLD_RANK", first + i);
        set_number("OMPI_COMM_WORLD_SIZE", size);
        set_number("OMPI_COMM_WORLD_LOCAL_RANK", i);
        set_number("OMPI_COMM_WORLD_LOCAL_SIZE", count);
        (void)execl(program, program, word, (char *)NULL);
        _exit(127);
    }
}

/* Reaps what has ended; how many are left of LEFT. */
static unsigned reap(unsigned left) {
    while (left > 0 && waitpid(-1, NULL, WNOHANG) > 0)
        left--;
    return left;
}

/* --- the daemon ------------------------------------------------------------------------------ */

static const char *parameter(int argc, char **argv, const char *name) {
    for (int i = 1; i + 2 < argc; i++)
        if (strcmp(argv[i], "--mca") == 0 && strcmp(argv[i + 1], name) == 0)
            return argv[i + 2];
    return NULL;
}

static int dial(const char *uri) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    char address[64];
    unsigned port = 0;
    if (uri == NULL || sscanf(uri, "%*[0-9.];tcp://%63[0-9.]:%u", address, &port) != 2 ||
        inet_pton(AF_INET, address, &to.sin_addr) != 1)
        return -1;
    to.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
        return -1;
    return fd;
}

/* Until mpirun has gone, or a stop. */
static int serve(int fd, unsigned left) {
    bool told = false;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    while (stopped == 0) {
        left = reap(left);
        if (left == 0 && !told)
            told = write(fd, "e", 1) == 1;
        if (await_any(&one, 1) > 0)
            return 0;
    }
    return 128 + stopped;
}

static int run_daemon(int argc, char **argv) {
    char line[LINE_MAX_SIZE] = "", program[256], word[64];
    unsigned first = 0, count = 0, size = 0;
    int fd = dial(parameter(argc, argv, "orte_hnp_uri"));
    if (fd < 0) {
        perror("orted: no way to mpirun");
        return 1;
    }
    for (size_t at = 0; at + 1 < sizeof(line) && strchr(line, '\n') == NULL; at++)
        if (read(fd, line + at, 1) != 1)
            return 1;
    if (sscanf(line, "%u %u %u %255s %63s", &first, &count, &size, program, word) != 5)
        return 1;
    start_ranks(first, count, size, program, word);
    return serve(fd, count);
}

/* --- mpirun ---------------------------------------------------------------------------------- */

static int read_words(struct run *r, char **argv, struct error *err) {
    static const char *const with_value[] = {"-np", "--map-by", "--bind-to", "--wdir", "-x"};
    for (argv++; *argv != NULL && **argv == '-'; argv++) {
        bool skips = false;
        for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
            skips |= strcmp(*argv, with_value[i]) == 0;
        if (strcmp(*argv, "--mca") == 0) {
            const char *const pair[] = {argv[1], argv[2], NULL};
            if (argv_add_all(&r->parameters, pair, err) != 0)
                return -1;
            if (strcmp(argv[1], "plm_rsh_agent") == 0)
                r->agent = argv[2];
            if (strcmp(argv[1], "oob_tcp_static_ipv4_ports") == 0)
                r->port = atoi(argv[2]);
            argv += 2;
        } else if (strcmp(*argv, "--hostfile") == 0) {
            r->hostfile = *++argv;
        } else if (skips) {
            argv++;
        }
    }
    r->program = argv[0];
    r->word = r->program != NULL ? argv[1] : NULL;
    if (r->word == NULL || r->agent == NULL || r->hostfile == NULL || r->port == 0)
        return error_set(err, EXIT_CODE_USAGE, "not as ringmaster calls it");
    return 0;
}

static int read_hosts(struct run *r, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, HOSTFILE_MAX);
    if (file_read(r->hostfile, &text, err) != 0)
        return -1;
    for (const char *line = buf_text(&text); *line != '\0'; line = strchr(line, '\n') + 1) {
        struct standin_host *host = &r->hosts[r->count];
        if (r->count == HOSTS_MAX || strchr(line, '\n') == NULL ||
            sscanf(line, "%63s slots=%u", host->address, &host->slots) != 2)
            return error_set(err, EXIT_CODE_USAGE, "a host file with '%.80s'", line);
        r->ranks += host->slots;
        r->count++;
    }
    return 0;
}

/* As Open MPI 4.1 writes it; addresses do not fold into a shorter expression there either. */
static int write_command(const struct run *r, size_t host, struct buf *ret, struct error *err) {
    if (buf_printf(ret, err,
                   " orted -mca orte_leave_session_attached \"1\" -mca ess \"env\" "
                   "-mca ess_base_jobid \"2701000704\" -mca ess_base_vpid %zu "
                   "-mca ess_base_num_procs \"%zu\" -mca orte_node_regex \"master",
                   host, r->count) != 0)
        return -1;
    for (size_t i = 1; i < r->count; i++)
        if (buf_printf(ret, err, ",%s", r->hosts[i].address) != 0)
            return -1;
    if (buf_printf(ret, err, "@0(%zu)\" -mca orte_hnp_uri \"2701000704.0;tcp://%s:%d\"", r->count,
                   r->hosts[0].address, r->port) != 0)
        return -1;
    for (size_t i = 0; i + 1 < r->parameters.count; i += 2)
        if (buf_printf(ret, err, " --mca %s \"%s\"", r->parameters.items[i],
                       r->parameters.items[i + 1]) != 0)
            return -1;
    return buf_add_text(ret,
                        " -mca plm \"rsh\" -mca rmaps_base_mapping_policy \"slot\" "
                        "-mca hwloc_base_binding_policy \"none\" "
                        "-mca pmix \"^s1,s2,cray,isolated\"",
                        err);
}

static int start_agents(const struct run *r, struct error *err) {
    for (size_t i = 1; i < r->count; i++) {
        cleanup_buf struct buf command;
        buf_init(&command, COMMAND_MAX);
        if (write_command(r, i, &command, err) != 0)
            return -1;
        pid_t child = fork_child();
        if (child < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "agent %zu", i);
        if (child > 0)
            continue;
        (void)execl(r->agent, r->agent, r->hosts[i].address, buf_text(&command), (char *)NULL);
        _exit(127);
    }
    return 0;
}

static int open_listener(struct run *r, struct error *err) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)r->port)};
    int one = 1;
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(r->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(r->listener, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(r->listener, HOSTS_MAX) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "port %d", r->port);
    return 0;
}

static int gather(struct run *r, struct error *err) {
    while (r->came + 1 < r->count) {
        int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && stopped == 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "daemon %zu", r->came);
        if (fd < 0)
            return error_set(err, EXIT_CODE_STOPPED, "stopped");
        r->daemons[r->came++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return 0;
}

/* The number of the host at the other end, by its address. */
static size_t host_behind(const struct run *r, int fd) {
    struct sockaddr_in peer = {0};
    socklen_t size = sizeof(peer);
    char address[INET_ADDRSTRLEN] = "";
    (void)getpeername(fd, (struct sockaddr *)&peer, &size);
    (void)inet_ntop(AF_INET, &peer.sin_addr, address, sizeof(address));
    size_t host = 0;
    while (host < r->count && strcmp(r->hosts[host].address, address) != 0)
        host++;
    return host;
}

static unsigned first_rank(const struct run *r, size_t host) {
    unsigned rank = 0;
    for (size_t i = 0; i < host; i++)
        rank += r->hosts[i].slots;
    return rank;
}

static int start_all(const struct run *r, struct error *err) {
    for (size_t i = 0; i < r->came; i++) {
        size_t host = host_behind(r, r->daemons[i].fd);
        if (host == r->count)
            return error_set(err, EXIT_CODE_INTERNAL, "a daemon of no host");
        if (dprintf(r->daemons[i].fd, "%u %u %u %s %s\n", first_rank(r, host), r->hosts[host].slots,
                    r->ranks, r->program, r->word) < 0)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "the daemon of %s",
                                   r->hosts[host].address);
    }
    start_ranks(0, r->hosts[0].slots, r->ranks, r->program, r->word);
    return 0;
}

/* Until all daemons have said that their ranks have ended, or one is gone, or a stop. */
static int await(struct run *r, struct error *err) {
    while (r->done < r->came && stopped == 0) {
        int ready = await_any(r->daemons, r->came);
        if (ready < 0 && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for daemons");
        for (size_t i = 0; ready > 0 && i < r->came; i++) {
            char byte;
            if (r->daemons[i].revents == 0)
                continue;
            if (read(r->daemons[i].fd, &byte, 1) != 1)
                return error_set(err, EXIT_CODE_HOST_LOST, "a daemon is gone");
            r->daemons[i].fd = -1 - r->daemons[i].fd; /* poll passes it over */
            r->done++;
        }
    }
    return stopped == 0 ? 0 : error_set(err, EXIT_CODE_STOPPED, "stopped");
}

static int run_mpirun(char **argv) {
    static struct run r;
    struct error err = {0};
    int result = 0;
    if (read_words(&r, argv, &err) != 0 || read_hosts(&r, &err) != 0 ||
        open_listener(&r, &err) != 0 || start_agents(&r, &err) != 0 || gather(&r, &err) != 0 ||
        start_all(&r, &err) != 0 || await(&r, &err) != 0) {
        fprintf(stderr, "mpirun: %s\n", err.text);
        result = err.code;
    }
    for (size_t i = 0; i < r.came; i++)
        (void)close(r.daemons[i].fd >= 0 ? r.daemons[i].fd : -1 - r.daemons[i].fd);
    while (result == 0 && wait(NULL) > 0)
        continue;
    argv_done(&r.parameters);
    return result;
}

int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    set_signal_handlers();
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return puts("mpirun (Open MPI) 4.1.4") < 0;
    return strcmp(name, "orted") == 0 ? run_daemon(argc, argv) : run_mpirun(argv);
}
