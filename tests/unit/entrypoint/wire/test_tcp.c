#include "entrypoint/wire/tcp.h"

#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS = 8 };

/* A listener that accepts no connection: with a full backlog nothing is answered. */
static void a_socket_that_has_not_reached_its_peer_is_reported(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int fds[CALLERS];
    CU_ASSERT_EQUAL_FATAL(bind(listener, (const struct sockaddr *)&at, size), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 0), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    for (int i = 0; i < CALLERS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (const struct sockaddr *)&at, size);
        struct pollfd first = {.fd = fds[0], .events = POLLOUT};
        CU_ASSERT_EQUAL(poll(&first, 1, 60000), 1); /* it has the only place */
    }
    CU_ASSERT_FALSE(tcp_is_connecting(fds[0]));
    CU_ASSERT_FALSE(tcp_is_stuck(fds[0]));
    CU_ASSERT(tcp_is_connecting(fds[CALLERS - 1]));
    for (int i = 0; i < CALLERS; i++)
        (void)close(fds[i]);
    (void)close(listener);
}

static void patience_is_as_given(void) {
    unsigned silence = 0;
    socklen_t size = sizeof(silence);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    tcp_tune(fd);
    tcp_set_silence(fd, 7);
    CU_ASSERT_EQUAL(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, &size), 0);
    CU_ASSERT_EQUAL(silence, 7000);
    (void)close(fd);
}

static void a_unix_socket_answers_no(void) {
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    tcp_tune(fds[0]);
    CU_ASSERT_FALSE(tcp_is_connecting(fds[0]));
    CU_ASSERT_FALSE(tcp_is_stuck(fds[0]));
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* A peer that reads nothing has no room, and answers TCP's probes. */
static void a_peer_that_has_no_room_is_not_stuck(void) {
    static const char much[1 << 16];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct tcp_info info = {0};
    socklen_t info_size = sizeof(info);
    int small = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    CU_ASSERT_EQUAL_FATAL(bind(listener, (const struct sockaddr *)&at, size), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&at, size), 0);
    tcp_tune(fd);
    CU_ASSERT(send(fd, much, sizeof(much), MSG_DONTWAIT) > 0);
    for (int i = 0; i < 300 && info.tcpi_backoff < 3; i++) {
        (void)poll(NULL, 0, 20);
        (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size);
        CU_ASSERT_FALSE(tcp_is_stuck(fd));
    }
    CU_ASSERT(info.tcpi_backoff >= 3); /* it has probed several times */
    (void)close(fd);
    (void)close(listener);
}

UNIT_SUITE("wire.tcp", UNIT(a_socket_that_has_not_reached_its_peer_is_reported),
           UNIT(patience_is_as_given), UNIT(a_unix_socket_answers_no),
           UNIT(a_peer_that_has_no_room_is_not_stuck))
