#include "entrypoint/door.h"

#include "common/clock.h"
#include "entrypoint/frame.h"
#include "entrypoint/tls.h"
#include "support/unit.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop loop;
static struct door door;
static uint16_t port;
static int arrivals;
static int refusals;

static void arrived(void *context, struct link *link, struct in_addr peer, const json_t *message) {
    (void)context;
    CU_ASSERT_EQUAL(peer.s_addr, htonl(INADDR_LOOPBACK));
    CU_ASSERT_STRING_EQUAL(frame_type(message), "join");
    arrivals++;
    link_free(link);
    loop_end(&loop);
}

static void refused(void *context, struct in_addr peer, const struct error *why) {
    (void)context;
    (void)peer;
    CU_ASSERT_EQUAL(why->code, EXIT_CODE_KEY_REFUSED);
    refusals++;
    loop_end(&loop);
}

static const struct door_events events = {arrived, refused};

static SSL_CTX *context_of(unsigned char fill, int is_server) {
    struct error err;
    struct key key = {.source = KEY_FROM_VARIABLE};
    memset(key.bytes, fill, sizeof(key.bytes));
    return tls_context_new(&key, is_server, &err);
}

static void open_door(SSL_CTX *tls) {
    struct error err;
    struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in at;
    socklen_t size = sizeof(at);
    (void)signal(SIGPIPE, SIG_IGN);
    arrivals = refusals = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    int listener = door_listen(loopback, 0, &err);
    CU_ASSERT_FATAL(listener >= 0);
    (void)getsockname(listener, (struct sockaddr *)&at, &size);
    port = ntohs(at.sin_port);
    CU_ASSERT_EQUAL_FATAL(door_open(&door, &loop, listener, tls, &events, NULL, &err), 0);
}

static int knock(void) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void ignore_message(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void ignore_end(void *context, const struct error *why) {
    (void)context;
    (void)why;
}

static const struct link_events client_events = {.message = ignore_message, .closed = ignore_end};

static struct link *client(SSL_CTX *tls) {
    struct error err;
    struct link *link = link_new(&loop, knock(), tls, false, &client_events, NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(link);
    link_send(link, frame_new("join"));
    return link;
}

static void a_guest_with_the_key_arrives_and_one_without_does_not(void) {
    struct error err;
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    SSL_CTX *wrong = context_of(2, 0);
    open_door(server);
    struct link *one = client(right);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, 1);
    link_free(one);
    struct link *two = client(wrong);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(refusals, 1);
    CU_ASSERT_EQUAL(arrivals, 1);
    CU_ASSERT_EQUAL(door.guest_count, 0);
    link_free(two);
    door_close(&door);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
    tls_context_free(wrong);
}

/* More strangers than there is room for knock and say nothing; the one with the key still gets in.
 */
static void a_flood_of_silent_strangers_keeps_nobody_out(void) {
    enum { FLOOD = DOOR_GUESTS_MAX + 88 };
    struct error err;
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
        unit_skip("not allowed so many descriptors");
        return;
    }
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *right = context_of(1, 0);
    open_door(server);
    static int strangers[FLOOD];
    for (int i = 0; i < FLOOD; i++)
        strangers[i] = knock();
    struct link *one = client(right);
    int64_t start = clock_now();
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, 1);
    CU_ASSERT(clock_now() - start < 4 * CLOCK_SECOND);
    CU_ASSERT(door.guest_count <= DOOR_GUESTS_MAX);
    link_free(one);
    door_close(&door);
    CU_ASSERT_EQUAL(door.guest_count, 0);
    for (int i = 0; i < FLOOD; i++)
        (void)close(strangers[i]);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(right);
}

static void a_busy_port_is_named_with_its_variable(void) {
    struct error err;
    struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    open_door(NULL);
    CU_ASSERT_EQUAL(door_listen(loopback, port, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "RINGMASTER_PORT");
    door_close(&door);
    loop_done(&loop);
}

UNIT_MAIN("entrypoint.door", UNIT(a_guest_with_the_key_arrives_and_one_without_does_not),
          UNIT(a_flood_of_silent_strangers_keeps_nobody_out),
          UNIT(a_busy_port_is_named_with_its_variable))
