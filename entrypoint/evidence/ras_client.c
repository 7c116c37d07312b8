#include "entrypoint/evidence/ras_client.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* RAS listens in a thread of every NCCL process and speaks lines of text: a greeting with the
 * version of the protocol, the time that it may take to collect, the form, and the question. It
 * closes the connection after the answer, so its end is that of the stream.
 *
 * Every wait has the caller's deadline, and the socket is nonblocking: the thread that answers is
 * in a program that hangs. Errors are EXIT_CODE_NOT_READY unless the address itself is wrong; the
 * callers (gather_table.c, ras_run.c) then continue without RAS. */

/* COLLECT_SECONDS is how long RAS may wait for its peers; after that it answers without them. */
enum { ADDRESS_SIZE = 256, REPLY_SIZE = 256, READ_SIZE = 16 * 1024, COLLECT_SECONDS = 5 };

/* The variables are those of the ranks, not of this process. NCCL_RAS_ENABLE=0 switches RAS off.
 * Without GPUs a job has no NCCL, so there is no default. */
const char *ras_client_address(char *const *environment, bool has_gpus) {
    const char *enabled = env_get(environment, "NCCL_RAS_ENABLE");
    const char *address = env_get(environment, "NCCL_RAS_ADDR");
    if (enabled != NULL && strcmp(enabled, "0") == 0)
        return NULL;
    if (address != NULL && address[0] != '\0')
        return address;
    return has_gpus ? RAS_CLIENT_ADDRESS : NULL;
}

/* Splits "host:port" or "[address]:port". The last colon counts, since an IPv6 address has several;
 * its brackets are not part of the name that getaddrinfo() takes. *RET_PORT points into ADDRESS. */
static int split(const char *address, char host[ADDRESS_SIZE], const char **ret_port,
                 struct error *err) {
    const char *colon = strrchr(address, ':');
    size_t size = colon != NULL ? (size_t)(colon - address) : 0;
    if (size == 0 || size >= ADDRESS_SIZE || colon[1] == '\0')
        return error_set(err, EXIT_CODE_CONFIG, "NCCL_RAS_ADDR: \"%.64s\" is not HOST:PORT",
                         address);
    bool brackets = address[0] == '[' && address[size - 1] == ']' && size > 2;
    (void)snprintf(host, ADDRESS_SIZE, "%.*s", (int)(size - (brackets ? 2 : 0)),
                   address + (brackets ? 1 : 0));
    *ret_port = colon + 1;
    return 0;
}

/* The result is only that something can be done: errors of the socket show at the next call. A
 * signal starts the wait anew with the time that is left. */
static int wait_for(int fd, short events, int64_t deadline, struct error *err) {
    struct pollfd p = {.fd = fd, .events = events};
    int ready = 0;
    do
        ready = poll(&p, 1, clock_left_ms(deadline));
    while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return 0;
    return error_set(err, EXIT_CODE_NOT_READY, "RAS did not answer in time");
}

/* Tries one address until the deadline. A refused connection is known at once. Returns a
 * nonblocking socket that the caller closes, or -1. */
static int connect_one(const struct addrinfo *a, int64_t deadline, struct error *err) {
    /* 0 from SO_ERROR: connected. */
    int error = 0;
    socklen_t size = sizeof(error);
    cleanup_fd int fd =
        socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a socket");
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
        return error_set_errno(err, EXIT_CODE_NOT_READY, "connecting to RAS");
    if (wait_for(fd, POLLOUT, deadline, err) != 0)
        return -1;
    (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0)
        return take_fd(&fd);
    errno = error;
    return error_set_errno(err, EXIT_CODE_NOT_READY, "connecting to RAS");
}

/* A name may have several addresses, while RAS may listen on one family only: all are tried in
 * order. The error of the last one stays. */
static int dial(const char *address, int64_t deadline, struct error *err) {
    char host[ADDRESS_SIZE];
    const char *port = NULL;
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int fd = -1;
    if (split(address, host, &port, err) != 0)
        return -1;
    int code = getaddrinfo(host, port, &hints, &list);
    if (code != 0)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s: %s", address, gai_strerror(code));
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_one(a, deadline, err);
    freeaddrinfo(list);
    return fd;
}

/* MSG_NOSIGNAL, because the program may end meanwhile, and this process would be killed by
 * SIGPIPE. */
static int say(int fd, const char *text, int64_t deadline, struct error *err) {
    for (size_t left = strlen(text); left > 0;) {
        if (wait_for(fd, POLLOUT, deadline, err) != 0)
            return -1;
        ssize_t sent = send(fd, text, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_NOT_READY, "asking RAS");
        text += sent > 0 ? sent : 0;
        left -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

/* Reads one line, byte by byte: what follows is the answer, and a larger read would take a part of
 * it. Lines without an end, as a server of another kind may send them, are given up at
 * REPLY_SIZE. */
static int hear(int fd, int64_t deadline, char line[REPLY_SIZE], struct error *err) {
    size_t used = 0;
    while (used < REPLY_SIZE - 1) {
        if (wait_for(fd, POLLIN, deadline, err) != 0)
            return -1;
        ssize_t got = recv(fd, line + used, 1, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            return error_set(err, EXIT_CODE_NOT_READY, "RAS closed the connection");
        if (line[used] == '\n') {
            line[used] = '\0';
            return 0;
        }
        used++;
    }
    return error_set(err, EXIT_CODE_NOT_READY, "what listens there is not RAS");
}

/* Sends a command and checks that the reply begins with EXPECTED; 1: it does not. */
static int command(int fd, const char *text, const char *expected, int64_t deadline,
                   struct error *err) {
    char line[REPLY_SIZE];
    if (say(fd, text, deadline, err) != 0 || hear(fd, deadline, line, err) != 0)
        return -1;
    return str_starts_with(line, expected) ? 0 : 1;
}

/* The deadline is checked once more after each part, as a peer that sends without end never makes
 * wait_for() fail. RET bounds the size. */
static int read_all(int fd, int64_t deadline, struct buf *ret, struct error *err) {
    for (;;) {
        char bytes[READ_SIZE];
        if (wait_for(fd, POLLIN, deadline, err) != 0)
            return -1;
        ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_NOT_READY, "RAS");
        if (got == 0)
            return 0;
        if (clock_now() >= deadline)
            return error_set(err, EXIT_CODE_NOT_READY, "RAS did not end its answer in time");
        if (buf_add(ret, bytes, (size_t)got, err) != 0)
            return error_wrap(err, "RAS");
    }
}

/* The first line tells which version of the protocol this client speaks. A server that is no RAS is
 * recognised by its reply, or by the lack of one. */
int ras_client_ask(const char *address, bool verbose, int64_t deadline, struct buf *ret,
                   struct error *err) {
    char timeout[32];
    cleanup_fd int fd = dial(address, deadline, err);
    if (fd < 0)
        return -1;
    int replied = command(fd, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ", deadline, err);
    (void)snprintf(timeout, sizeof(timeout), "TIMEOUT %d\n", COLLECT_SECONDS);
    if (replied == 0)
        replied = command(fd, timeout, "OK", deadline, err);
    if (replied != 0)
        return replied < 0 ? -1
                           : error_set(err, EXIT_CODE_NOT_READY, "what listens there is not RAS");
    /* An older one does not know the format, and answers as text. Its reply to this line is
     * therefore not looked at; the answer itself shows its form (ras_answer.c). */
    if (!verbose && command(fd, "SET FORMAT json\n", "", deadline, err) < 0)
        return -1;
    if (say(fd, verbose ? "VERBOSE STATUS\n" : "STATUS\n", deadline, err) != 0)
        return -1;
    return read_all(fd, deadline, ret, err);
}
