#include "common/clock.h"
#include "entrypoint/host/preflight/network_check.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ask[] = "0123456789abcdef0123456789abcdef";
static const char answer[] = "fedcba9876543210fedcba9876543210";

/* A socket on a port of its own, where nobody listens: connections to it are refused. */
static int new_refuser(uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, size), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int new_listener(uint16_t *port) {
    int fd = new_refuser(port);
    CU_ASSERT_EQUAL_FATAL(listen(fd, SOMAXCONN), 0);
    return fd;
}

static struct network_check_options options_for(const struct network_check_peer *peers,
                                                size_t count, size_t self, int listener) {
    struct network_check_options o = {
        .listener = listener, .peers = peers, .count = count, .self = self};
    memcpy(o.ask, ask, sizeof(ask));
    memcpy(o.answer, answer, sizeof(answer));
    return o;
}

static const struct network_check_way *way_to(const struct network_check_result *r, size_t peer) {
    for (size_t i = 0; i < r->count; i++)
        if (r->ways[i].peer == peer)
            return &r->ways[i];
    return NULL;
}

/* Hosts of processes of their own begin together with this one, as each has two seconds: they tell
 * that they are there, and wait for the gate. */
static int ready[2];
static int gate[2];

static void close_gate(void) {
    CU_ASSERT_EQUAL_FATAL(pipe2(ready, O_CLOEXEC) | pipe2(gate, O_CLOEXEC), 0);
}

static void open_gate(void) {
    for (int i = 0; i < 2; i++) {
        (void)close(ready[i]);
        (void)close(gate[i]);
    }
}

/* A host of its own process. Ends with 0 where all its ways were good and its bytes arrived. */
static pid_t start_host(const struct network_check_peer *peers, size_t count, size_t self,
                        int listener) {
    pid_t pid = fork();
    char byte = 'r';
    if (pid != 0) {
        CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
        return pid;
    }
    (void)close(gate[1]);
    (void)!write(ready[1], &byte, 1);
    (void)!read(gate[0], &byte, 1);
    struct network_check_result r;
    struct network_check_options o = options_for(peers, count, self, listener);
    int bad = network_check_run(&o, &r, NULL) != 0 || r.count != count - 1 || r.sent.bytes == 0;
    for (size_t i = 0; i < r.count; i++)
        bad += r.ways[i].trip <= 0;
    _exit(bad);
}

static bool ended_well(pid_t pid) {
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* How many bytes the first one has sent. */
static int64_t three_meet(void) {
    struct network_check_peer peers[3];
    struct network_check_result r;
    int listeners[3];
    for (size_t i = 0; i < 3; i++) {
        peers[i].address = address_of("127.0.0.1");
        listeners[i] = new_listener(&peers[i].port);
    }
    close_gate();
    pid_t second = start_host(peers, 3, 1, listeners[1]);
    pid_t third = start_host(peers, 3, 2, listeners[2]);
    struct network_check_options o = options_for(peers, 3, 0, listeners[0]);
    open_gate();
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT_EQUAL(r.count, 2);
    for (size_t peer = 1; peer < 3; peer++) {
        const struct network_check_way *way = way_to(&r, peer);
        CU_ASSERT_PTR_NOT_NULL_FATAL(way);
        CU_ASSERT(way->trip > 0 && way->why[0] == '\0');
    }
    CU_ASSERT(r.sent.tried && r.sent.peer == 1);
    const int64_t bytes = (int64_t)r.sent.bytes;
    CU_ASSERT(r.sent.time >= NETWORK_CHECK_SEND_MS * CLOCK_MILLISECOND);
    CU_ASSERT(r.sent.path_mtu >= 1280);
    network_check_done(&r);
    CU_ASSERT(ended_well(second) && ended_well(third));
    for (size_t i = 0; i < 3; i++)
        (void)close(listeners[i]);
    return bytes;
}

/* A host that stalls for a moment on a busy machine sends little in that time: the hosts meet again
 * then. */
static void three_hosts_reach_each_other(void) {
    int64_t bytes = 0;
    for (int tries = 0; tries < 3 && bytes <= 1024 * 1024; tries++)
        bytes = three_meet();
    CU_ASSERT(bytes > 1024 * 1024);
}

/* One refuses, one takes connections and is silent, one answers something else, one is not there.
 */
static void what_does_not_answer_is_distinguished(void) {
    struct network_check_peer peers[5] = {{.port = 0}};
    struct network_check_result r;
    for (size_t i = 0; i < 4; i++)
        peers[i].address = address_of("127.0.0.1");
    int own = new_listener(&peers[0].port);
    int gone = new_refuser(&peers[1].port);
    int silent = new_listener(&peers[2].port);
    int liar = new_listener(&peers[3].port);
    char byte = 'r';
    close_gate();
    pid_t pid = fork();
    if (pid == 0) {
        struct pollfd p = {.fd = liar, .events = POLLIN};
        (void)!write(ready[1], &byte, 1);
        (void)poll(&p, 1, 60000);
        int fd = accept(liar, NULL, NULL);
        (void)!write(fd, ask, sizeof(ask) - 1);
        for (;;)
            (void)pause();
    }
    struct network_check_options o = options_for(peers, 5, 0, own);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    open_gate();
    int64_t began = clock_now();
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT(clock_now() - began >= NETWORK_CHECK_ANSWER_MS * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL_FATAL(r.count, 3);
    ASSERT_CONTAINS(way_to(&r, 1)->why, "refused");
    ASSERT_CONTAINS(way_to(&r, 2)->why, "does not answer within 2 s");
    ASSERT_CONTAINS(way_to(&r, 3)->why, "something else answers");
    CU_ASSERT_PTR_NULL(way_to(&r, 4));
    CU_ASSERT_FALSE(r.sent.tried);
    for (size_t i = 0; i < r.count; i++)
        CU_ASSERT_EQUAL(r.ways[i].trip, 0);
    network_check_done(&r);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(own);
    (void)close(gone);
    (void)close(silent);
    (void)close(liar);
}

static int connect_to(uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* More connections than there is room for, from a peer that never sends a message. */
static void who_says_nothing_makes_room_for_hosts(void) {
    enum { SILENT = 100 };
    struct network_check_peer peers[2];
    struct network_check_result r;
    int listeners[2];
    int silent[SILENT];
    for (size_t i = 0; i < 2; i++) {
        peers[i].address = address_of("127.0.0.1");
        listeners[i] = new_listener(&peers[i].port);
    }
    for (size_t i = 0; i < SILENT; i++)
        silent[i] = connect_to(peers[0].port);
    close_gate();
    pid_t second = start_host(peers, 2, 1, listeners[1]);
    struct network_check_options o = options_for(peers, 2, 0, listeners[0]);
    open_gate();
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT(r.count == 1 && r.ways[0].trip > 0);
    network_check_done(&r);
    CU_ASSERT(ended_well(second));
    for (size_t i = 0; i < SILENT; i++)
        (void)close(silent[i]);
    for (size_t i = 0; i < 2; i++)
        (void)close(listeners[i]);
}

/* This host, with its port already set, and others that all have one address. */
static void fill_peers(struct network_check_peer *peers, size_t count, const char *others,
                       uint16_t port) {
    peers[0] =
        (struct network_check_peer){.address = address_of("127.0.0.1"), .port = peers[0].port};
    for (size_t i = 1; i < count; i++)
        peers[i] = (struct network_check_peer){.address = address_of(others), .port = port};
}

/* Many more than are dialled at a time. */
static void a_master_dials_all_hosts(void) {
    enum { HOSTS = 300 };
    struct network_check_peer peers[HOSTS];
    struct network_check_result r;
    int own = new_listener(&peers[0].port);
    int gone = new_refuser(&peers[1].port);
    fill_peers(peers, HOSTS, "127.0.0.1", peers[1].port);
    struct network_check_options o = options_for(peers, HOSTS, 0, own);
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(r.count, HOSTS - 1);
    for (size_t peer = 1; peer < HOSTS; peer++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(way_to(&r, peer));
        ASSERT_CONTAINS(way_to(&r, peer)->why, "refused");
    }
    network_check_done(&r);
    (void)close(own);
    (void)close(gone);
}

/* No connection leads to an address of many, which the kernel says at once: that takes nobody's
 * place. */
static void who_fails_at_once_holds_nobody_up(void) {
    enum { HOSTS = 300 };
    struct network_check_peer peers[HOSTS];
    struct network_check_result r;
    int own = new_listener(&peers[0].port);
    fill_peers(peers, HOSTS, "224.0.0.1", peers[0].port);
    struct network_check_options o = options_for(peers, HOSTS, 0, own);
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(r.count, HOSTS - 1);
    for (size_t peer = 1; peer < HOSTS; peer++)
        ASSERT_CONTAINS(way_to(&r, peer)->why, "nreachable");
    network_check_done(&r);
    (void)close(own);
}

/* Its neighbours are tried first, and what was not tried is reported. */
static void a_way_that_was_not_tried_is_reported(void) {
    enum { HOSTS = 100, AT_ONCE = 64 };
    struct network_check_peer peers[HOSTS];
    struct network_check_result r;
    int own = new_listener(&peers[0].port);
    int silent = new_listener(&peers[1].port);
    fill_peers(peers, HOSTS, "127.0.0.1", peers[1].port);
    struct network_check_options o = options_for(peers, HOSTS, 0, own);
    CU_ASSERT_EQUAL(network_check_run(&o, &r, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(r.count, HOSTS - 1);
    for (size_t peer = 1; peer < HOSTS; peer++)
        ASSERT_CONTAINS(way_to(&r, peer)->why,
                        peer <= AT_ONCE ? "does not answer within 2 s" : "not tried within 2 s");
    network_check_done(&r);
    (void)close(own);
    (void)close(silent);
}

/* Every way of every pair is tried by somebody up to 17 hosts, and then each host's by its
 * neighbours and the master; everybody tries the master. */
static void everybody_is_dialled(void) {
    static const size_t counts[] = {2, 3, 17, 18, 1000};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
        for (size_t to = 0; to < counts[k]; to++) {
            size_t by = 0;
            for (size_t from = 0; from < counts[k]; from++)
                by += network_check_dials(from, to, counts[k]);
            size_t others = counts[k] - 1;
            bool near = to <= NETWORK_CHECK_NEIGHBOURS; /* the master is one of them */
            size_t some = NETWORK_CHECK_NEIGHBOURS + !near;
            CU_ASSERT_EQUAL(by, to == 0 || others < some ? others : some);
            CU_ASSERT(to == 0 || (network_check_dials(0, to, counts[k]) &&
                                  network_check_dials(to, 0, counts[k])));
        }
    CU_ASSERT(network_check_dials(2, 0, 3) && network_check_dials(0, 2, 3));
    CU_ASSERT_FALSE(network_check_dials(1, 1, 3));
}

UNIT_SUITE("host.network_check", UNIT(three_hosts_reach_each_other),
           UNIT(what_does_not_answer_is_distinguished), UNIT(who_says_nothing_makes_room_for_hosts),
           UNIT(a_master_dials_all_hosts), UNIT(who_fails_at_once_holds_nobody_up),
           UNIT(a_way_that_was_not_tried_is_reported), UNIT(everybody_is_dialled))
