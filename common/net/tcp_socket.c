#include "common/net/tcp_socket.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/net/look_up.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* All sockets are nonblocking, and every wait is a poll() with the time that is left. A blocking
 * connect() or recv() could wait for minutes on a host that is gone, and SO_RCVTIMEO would begin
 * anew with each part of a message. The callers are ranks that know when they give up: star.c of
 * entrypoint/study, and the mesh of trainer/comm/tcp. */

/* All ranks of a job dial rank 0 at about the same time. The kernel lowers this to
 * net.core.somaxconn. */
enum { BACKLOG = 512 };

/* An address needs no resolver. A name that is not found may be that of a host which is still
 * starting, so its code is EXIT_CODE_NOT_READY, on which callers try again. */
int tcp_socket_resolve(const char *name, struct net_address *ret, struct error *err) {
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    if (net_address_parse(name, ret))
        return 0;
    int bad = look_up_name(name, NULL, &hints, &found);
    if (bad != 0)
        return error_set(err, EXIT_CODE_NOT_READY, "host name %.256s: %s", name, gai_strerror(bad));
    bool usable = net_address_of(found->ai_addr, ret);
    freeaddrinfo(found);
    if (!usable)
        return error_set(err, EXIT_CODE_CONFIG, "host name %.256s: no IPv4 or IPv6 address", name);
    return 0;
}

/* Close-on-exec from the start: a child that another thread forks between two calls would keep the
 * connection open. */
static int open_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Small messages must not wait for the answer to the last one (Nagle), and a peer on a machine that
 * is gone has to be noticed in the end. Neither is needed for correctness, so failures are
 * ignored. */
static void tune(int fd) {
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* The port that the kernel chose for port 0. Both families keep it in network byte order. */
static int port_of(int fd, uint16_t *ret) {
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0)
        return -1;
    *ret = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                           : ((struct sockaddr_in *)&own)->sin_port);
    return 0;
}

/* SO_REUSEADDR allows a port on which connections of an earlier process are still in TIME_WAIT,
 * such as after a restart. */
int tcp_socket_listen(const struct net_address *address, uint16_t port, uint16_t *ret_port,
                      struct error *err) {
    const int on = 1;
    char text[NET_ADDRESS_TEXT];
    struct sockaddr_storage to;
    socklen_t size = net_address_socket(address, port, &to);
    net_address_text(address, text);
    cleanup_fd int fd = open_socket(to.ss_family);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (struct sockaddr *)&to, size) != 0 || listen(fd, BACKLOG) != 0 ||
        port_of(fd, ret_port) != 0) {
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "listening at %s port %u", text, port);
        return -1;
    }
    return take_fd(&fd);
}

/* Waits until FD is ready for EVENTS; false once the deadline has passed. A wait that is too long
 * for one poll() returns 0 with time left, and a signal interrupts it; both begin the wait anew. */
static bool ready(int fd, short events, int64_t deadline) {
    struct pollfd one = {.fd = fd, .events = events};
    for (;;) {
        int left = clock_left_ms(deadline);
        int count = poll(&one, 1, left);
        if (count > 0)
            return true;
        if ((count == 0 && left == 0) || (count < 0 && errno != EINTR))
            return false;
    }
}

/* The result of a nonblocking connect() is in SO_ERROR once the socket is writable. All failures
 * are EXIT_CODE_NOT_READY: the peer may not listen yet. */
int tcp_socket_dial(const struct net_address *address, uint16_t port, int64_t deadline,
                    struct error *err) {
    char text[NET_ADDRESS_TEXT];
    struct sockaddr_storage to;
    socklen_t size = net_address_socket(address, port, &to);
    net_address_text(address, text);
    cleanup_fd int fd = open_socket(to.ss_family);
    int bad = fd < 0 || connect(fd, (struct sockaddr *)&to, size) != 0 ? errno : 0;
    if (bad == EINPROGRESS) {
        socklen_t width = sizeof(bad);
        if (!ready(fd, POLLOUT, deadline))
            bad = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &bad, &width) != 0)
            bad = errno;
    }
    if (bad != 0) {
        errno = bad;
        (void)error_set_errno(err, EXIT_CODE_NOT_READY, "connecting to %s port %u", text, port);
        return -1;
    }
    tune(fd);
    return take_fd(&fd);
}

/* On Linux a new connection does not inherit the listener's flags, so they are given again. The
 * peer's address tells a caller which host has come; an address of another family leaves *RET as it
 * was. */
int tcp_socket_accept(int listener, struct net_address *ret) {
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    int fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    (void)net_address_of((struct sockaddr *)&from, ret);
    tune(fd);
    return fd;
}

/* On a host with several networks this is the address of the one that leads to the peer. */
int tcp_socket_own(int fd, struct net_address *ret, struct error *err) {
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
        !net_address_of((struct sockaddr *)&own, ret))
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the address of a connection");
    return 0;
}

/* After a transfer of COUNT bytes: waits where it has to. COUNT is what recv() or send() returned.
 * 0 from here means: try again, or continue with the rest. */
static int go_on(int fd, ssize_t count, short events, int64_t deadline, struct error *err) {
    if (count > 0 || (count < 0 && errno == EINTR))
        return 0;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "connection");
    if (!ready(fd, events, deadline))
        return error_set(err, EXIT_CODE_STALLED, "connection: nothing more came in time");
    return 0;
}

/* Each call sees the same deadline, however many parts the message comes in. MSG_NOSIGNAL is needed
 * below only: a read from a closed connection raises no SIGPIPE. */
int tcp_socket_read(int fd, void *bytes, size_t size, int64_t deadline, struct error *err) {
    for (size_t got = 0; got < size;) {
        ssize_t count = recv(fd, (char *)bytes + got, size - got, 0);
        if (count == 0)
            return error_set(err, EXIT_CODE_INTERNAL, "the other side closed the connection");
        if (go_on(fd, count, POLLIN, deadline, err) != 0)
            return -1;
        got += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

/* A peer that is gone must not kill the process by SIGPIPE: the error is EPIPE instead. */
int tcp_socket_write(int fd, const void *bytes, size_t size, int64_t deadline, struct error *err) {
    for (size_t put = 0; put < size;) {
        ssize_t count = send(fd, (const char *)bytes + put, size - put, MSG_NOSIGNAL);
        if (go_on(fd, count, POLLOUT, deadline, err) != 0)
            return -1;
        put += count > 0 ? (size_t)count : 0;
    }
    return 0;
}
