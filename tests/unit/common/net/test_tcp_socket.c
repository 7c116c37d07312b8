#include "common/net/tcp_socket.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <string.h>

static int accept_one(int listener) {
    struct net_address from;
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&ready, 1, 60000), 1);
    return tcp_socket_accept(listener, &from);
}

/* Both ends of a connection. */
static void connect_ends(int *ret_near, int *ret_far) {
    struct net_address here;
    struct error err = {0};
    uint16_t port = 0;
    CU_ASSERT_EQUAL_FATAL(tcp_socket_resolve("127.0.0.1", &here, &err), 0);
    cleanup_fd int listener = tcp_socket_listen(&here, 0, &port, &err);
    CU_ASSERT_FATAL(listener >= 0 && port > 0);
    *ret_near = tcp_socket_dial(&here, port, clock_now() + 60 * CLOCK_SECOND, &err);
    CU_ASSERT_FATAL(*ret_near >= 0);
    *ret_far = accept_one(listener);
    CU_ASSERT_FATAL(*ret_far >= 0);
}

static void bytes_arrive_whole(void) {
    static char sent[4096], got[4096];
    struct error err = {0};
    struct net_address own;
    cleanup_fd int near = -1, far = -1;
    connect_ends(&near, &far);
    memset(sent, 7, sizeof(sent));
    const int64_t deadline = clock_now() + 60 * CLOCK_SECOND;
    CU_ASSERT_EQUAL(tcp_socket_write(near, sent, sizeof(sent), deadline, &err), 0);
    CU_ASSERT_EQUAL(tcp_socket_read(far, got, sizeof(got), deadline, &err), 0);
    CU_ASSERT_EQUAL(memcmp(sent, got, sizeof(got)), 0);
    CU_ASSERT_EQUAL(tcp_socket_own(near, &own, &err), 0);
    CU_ASSERT_TRUE(net_address_is_ipv4(&own));
}

static void nothing_is_waited_for_beyond_the_deadline(void) {
    char byte = 0;
    struct error err = {0};
    cleanup_fd int near = -1, far = -1;
    connect_ends(&near, &far);
    const int64_t before = clock_now();
    CU_ASSERT_EQUAL(tcp_socket_read(far, &byte, 1, before + 50 * CLOCK_MILLISECOND, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT(clock_now() - before >= 50 * CLOCK_MILLISECOND);
}

static void an_end_of_the_stream_is_told(void) {
    char byte = 0;
    struct error err = {0};
    int near = -1;
    cleanup_fd int far = -1;
    connect_ends(&near, &far);
    (void)close(near);
    CU_ASSERT_EQUAL(tcp_socket_read(far, &byte, 1, clock_now() + 60 * CLOCK_SECOND, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "closed"));
}

static void nobody_listens_and_no_such_name(void) {
    struct net_address here;
    struct error err = {0};
    uint16_t port = 0;
    CU_ASSERT_EQUAL_FATAL(tcp_socket_resolve("127.0.0.1", &here, &err), 0);
    const int listener = tcp_socket_listen(&here, 0, &port, &err);
    CU_ASSERT_FATAL(listener >= 0);
    (void)close(listener);
    CU_ASSERT_EQUAL(tcp_socket_dial(&here, port, clock_now() + 60 * CLOCK_SECOND, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_READY);
    CU_ASSERT_EQUAL(tcp_socket_resolve("no such name", &here, &err), -1);
}

UNIT_SUITE("common.net.tcp_socket", UNIT(bytes_arrive_whole),
           UNIT(nothing_is_waited_for_beyond_the_deadline), UNIT(an_end_of_the_stream_is_told),
           UNIT(nobody_listens_and_no_such_name))
