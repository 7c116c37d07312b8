#include "entrypoint/wire/listener.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/lag.h"
#include "tests/support/quiet_link.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop loop;
static struct listener acceptor;
static uint16_t port;
static int arrivals;
static int refusals;
static int strangers;
static int strangers_awaited;
static int64_t foreign_version;
static char last_why[ERROR_TEXT_MAX];

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    ASSERT_ADDRESS(peer, "127.0.0.1");
    CU_ASSERT_STRING_EQUAL(frame_type(message), "join");
    arrivals++;
    link_free(link);
    loop_end(&loop);
}

static void foreign(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    foreign_version = frame_version(message);
    link_free(link);
    loop_end(&loop);
}

static void turned_away(void *context, const struct net_address *peer, const struct error *why) {
    (void)context;
    ASSERT_ADDRESS(peer, "127.0.0.1");
    if (why->code == EXIT_CODE_KEY_REFUSED)
        refusals++;
    else
        strangers++;
    (void)snprintf(last_why, sizeof(last_why), "%s", why->text);
    if (why->code == EXIT_CODE_KEY_REFUSED || strangers == strangers_awaited)
        loop_end(&loop);
}

static const struct listener_events events = {
    .arrived = arrived, .foreign = foreign, .turned_away = turned_away};

static SSL_CTX *context_of(unsigned char fill, int is_server) {
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    memset(key, fill, sizeof(key));
    return tls_context_new(key, is_server, &err);
}

static void open_acceptor(SSL_CTX *tls) {
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    struct sockaddr_in at;
    socklen_t size = sizeof(at);
    (void)signal(SIGPIPE, SIG_IGN);
    arrivals = refusals = strangers = strangers_awaited = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    int listener = listener_listen(&loopback, 0, LISTENER_CONTROL, &err);
    CU_ASSERT_FATAL(listener >= 0);
    (void)getsockname(listener, (struct sockaddr *)&at, &size);
    port = ntohs(at.sin_port);
    CU_ASSERT_EQUAL_FATAL(listener_open(&acceptor, &loop, listener, tls, &events, NULL, &err), 0);
}

static int knock(void) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static struct link *client(SSL_CTX *tls) {
    struct error err;
    struct link *link = link_new(&loop, knock(), tls, false, &quiet_link, NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(link);
    link_send(link, frame_new("join"));
    return link;
}

static void a_pending_link_with_the_key_arrives_and_one_without_does_not(void) {
    struct error err;
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    SSL_CTX *wrong = context_of(2, 0);
    open_acceptor(server);
    struct link *one = client(right);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, 1);
    link_free(one);
    struct link *two = client(wrong);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(refusals, 1);
    CU_ASSERT_EQUAL(arrivals, 1);
    CU_ASSERT_EQUAL(acceptor.pending_count, 0);
    link_free(two);
    listener_close(&acceptor);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
    tls_context_free(wrong);
}

/* More strangers than there is room for knock and say nothing; the one with the key still gets in.
 */
static void a_flood_of_silent_strangers_keeps_nobody_out(void) {
    enum { FLOOD = LISTENER_PENDING_MAX + 88 };
    struct error err;
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
        unit_skip("not allowed so many descriptors");
        return;
    }
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    open_acceptor(server);
    static int crowd[FLOOD];
    for (int i = 0; i < FLOOD; i++)
        crowd[i] = knock();
    struct link *one = client(right);
    struct lag lag;
    lag_begin(&lag);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, 1);
    ASSERT_WITHIN(&lag, 4 * CLOCK_SECOND);
    CU_ASSERT(acceptor.pending_count <= LISTENER_PENDING_MAX);
    link_free(one);
    listener_close(&acceptor);
    CU_ASSERT_EQUAL(acceptor.pending_count, 0);
    for (int i = 0; i < FLOOD; i++)
        (void)close(crowd[i]);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
}

/* None of them got as far as the key, whatever it sent. */
static void scanners_and_garbage_are_strangers(void) {
    static const char *const words[] = {
        "GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x16\x03\x01\x00\x05hello",
        "\x15\x03\x03\x00\x02\x02\x2f", /* an alert: illegal parameter */
        ""};
    static const size_t sizes[] = {18, 21, 10, 7, 0};
    struct error err;
    SSL_CTX *server = context_of(1, 1);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        open_acceptor(server);
        strangers_awaited = 1;
        int fd = knock();
        CU_ASSERT_EQUAL(write(fd, words[i], sizes[i]), (ssize_t)sizes[i]);
        (void)shutdown(fd, SHUT_WR);
        CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
        CU_ASSERT_EQUAL(strangers, 1);
        CU_ASSERT_EQUAL(refusals, 0);
        CU_ASSERT_NOT_EQUAL(last_why[0], '\0');
        (void)close(fd);
        listener_close(&acceptor);
        loop_done(&loop);
    }
    tls_context_free(server);
}

static void a_pending_link_of_another_version_is_known_as_that(void) {
    struct error err;
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    open_acceptor(server);
    struct link *one = link_new(&loop, knock(), right, false, &quiet_link, NULL, &err);
    link_send(one, frame_new_for(1, "join"));
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(foreign_version, 1);
    CU_ASSERT_EQUAL(arrivals, 0);
    link_free(one);
    listener_close(&acceptor);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
}

static void end_of_time(void *context) {
    (void)context;
    loop_end(&loop);
}

static void run_for(int64_t time) {
    struct error err;
    struct timer end = {.fire = end_of_time};
    loop_after(&loop, &end, time);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    loop_cancel(&loop, &end);
}

static bool is_open(int knock) {
    char byte;
    return recv(knock, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

static size_t count_open(const int *knocks, size_t count) {
    size_t open = 0;
    for (size_t i = 0; i < count; i++)
        open += is_open(knocks[i]);
    return open;
}

/* Until so many of them are, the others having been hung up on; in vain for ten seconds at most. */
static bool are_open(const int *knocks, size_t count, size_t wanted) {
    for (int i = 0; i < 200 && count_open(knocks, count) != wanted; i++)
        run_for(CLOCK_SECOND / 20);
    return count_open(knocks, count) == wanted;
}

static void room_can_be_taken_back(void) {
    enum { PENDING = 20 };
    int pending[PENDING];
    SSL_CTX *server = context_of(1, 1);
    open_acceptor(server);
    listener_set_room(&acceptor, 10);
    for (int i = 0; i < PENDING; i++)
        pending[i] = knock();
    CU_ASSERT(are_open(pending, PENDING, 10));
    CU_ASSERT_EQUAL(acceptor.pending_count, 10);
    listener_set_room(&acceptor, 0);
    CU_ASSERT_EQUAL(acceptor.pending_count, LISTENER_PENDING_LEAST);
    for (int i = 0; i < PENDING; i++)
        (void)close(pending[i]);
    listener_close(&acceptor);
    loop_done(&loop);
    tls_context_free(server);
}

/* It has the key, and its place is wanted for others. */
static void a_pending_link_that_says_nothing_is_sent_away_after_ten_seconds(void) {
    struct error err;
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    open_acceptor(server);
    int64_t begun = clock_now();
    struct link *one = link_new(&loop, knock(), right, false, &quiet_link, NULL, &err);
    for (int i = 0; i < 100 && (acceptor.pending_count == 0 || loop.timers->next != NULL); i++)
        run_for(CLOCK_SECOND / 50); /* until the handshake, which has a deadline, is over */
    CU_ASSERT_EQUAL(acceptor.pending_count, 1);
    struct timer *patience = loop.timers;
    CU_ASSERT_FATAL(patience != NULL && patience->next == NULL);
    const int64_t left = patience->deadline - clock_now(), since = clock_now() - begun;
    CU_ASSERT(left <= 10 * CLOCK_SECOND);
    CU_ASSERT(left >= 10 * CLOCK_SECOND - since);
    loop_after(&loop, patience, 0); /* as if they had passed */
    run_for(CLOCK_SECOND / 10);
    CU_ASSERT_EQUAL(acceptor.pending_count, 0);
    CU_ASSERT_EQUAL(refusals + strangers + arrivals, 0);
    link_free(one);
    listener_close(&acceptor);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
}

/* All descriptors are taken away, with SPARE but the one that is kept for this; the knocks were
 * there before. */
static int knock_without_descriptors(bool spare) {
    enum { KNOCKS = 8 };
    int knocks[KNOCKS];
    struct rusage before;
    struct rusage after;
    open_acceptor(context_of(1, 1));
    for (int i = 0; i < KNOCKS; i++)
        knocks[i] = knock();
    int next = dup(0);
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)next + 1;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (!spare) { /* its number goes to somebody else */
        (void)close(acceptor.spare);
        acceptor.spare = -1;
        CU_ASSERT(dup(0) >= 0);
    }
    CU_ASSERT_EQUAL(dup(0), -1);
    (void)getrusage(RUSAGE_SELF, &before);
    run_for(CLOCK_SECOND);
    (void)getrusage(RUSAGE_SELF, &after);
    int64_t busy = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                   (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
                   after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                   before.ru_stime.tv_usec;
    if (busy > 50000) /* us in a second; a busy loop uses all the time it gets */
        return 1;
    if (!are_open(knocks, KNOCKS, spare ? 0 : KNOCKS))
        return 2;
    limit.rlim_cur += 100;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const size_t pending = spare ? 0 : KNOCKS;
    for (int i = 0; i < 20 && (acceptor.pending_count != pending || acceptor.spare < 0); i++)
        run_for(CLOCK_SECOND / 4);
    return acceptor.pending_count == pending && acceptor.spare >= 0 ? 0 : 3;
}

static int with_a_spare(void) {
    return knock_without_descriptors(true);
}

static int without_a_spare(void) {
    return knock_without_descriptors(false);
}

/* The connection that has waited longest is closed, and the new one takes its place. */
static int a_newcomer_without_descriptors(void) {
    struct rlimit limit;
    open_acceptor(context_of(1, 1));
    int first = knock();
    run_for(CLOCK_SECOND / 20);
    int second = knock();
    run_for(CLOCK_SECOND / 20);
    int newcomer = knock();
    int next = dup(0);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)next + 1;
    if (acceptor.pending_count != 2 || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    run_for(CLOCK_SECOND / 20);
    return acceptor.pending_count == 2 && !is_open(first) && is_open(second) && is_open(newcomer)
               ? 0
               : 2;
}

static void a_newcomer_takes_the_oldest_strangers_descriptor(void) {
    CU_ASSERT_EQUAL(unit_in_child(a_newcomer_without_descriptors), 0);
}

static void a_door_without_descriptors_neither_spins_nor_keeps_anybody_waiting(void) {
    CU_ASSERT_EQUAL(unit_in_child(with_a_spare), 0);
    CU_ASSERT_EQUAL(unit_in_child(without_a_spare), 0);
}

static void a_busy_port_is_named_with_its_variable(void) {
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    open_acceptor(NULL);
    CU_ASSERT_EQUAL(listener_listen(&loopback, port, LISTENER_CONTROL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "RINGMASTER_PORT");
    listener_close(&acceptor);
    loop_done(&loop);
}

UNIT_SUITE("wire.listener", UNIT(a_pending_link_with_the_key_arrives_and_one_without_does_not),
           UNIT(a_flood_of_silent_strangers_keeps_nobody_out),
           UNIT(scanners_and_garbage_are_strangers),
           UNIT(a_pending_link_of_another_version_is_known_as_that), UNIT(room_can_be_taken_back),
           UNIT(a_pending_link_that_says_nothing_is_sent_away_after_ten_seconds),
           UNIT(a_newcomer_takes_the_oldest_strangers_descriptor),
           UNIT(a_door_without_descriptors_neither_spins_nor_keeps_anybody_waiting),
           UNIT(a_busy_port_is_named_with_its_variable))
