#include "entrypoint/wire/link.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/wire/certificate.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two links in one loop, a socket pair between them. */
struct side {
    struct loop *loop;
    struct link *link;
    int opened;
    int messages;
    int wanted; /* ends the loop at so many messages */
    int closed;
    enum exit_code code;
    char why[ERROR_TEXT_MAX];
    bool free_when_heard;
    int far; /* the other end, where that is no link */
};

static struct loop loop;
static struct timer patience;

static void opened(void *context) {
    struct side *s = context;
    s->opened++;
}

static void heard(void *context, const json_t *message) {
    struct side *s = context;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "line");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "number")), s->messages);
    s->messages++;
    if (s->free_when_heard) {
        link_free(s->link);
        s->link = NULL;
    }
    if (s->messages == s->wanted)
        loop_end(&loop);
}

static void closed(void *context, const struct error *why) {
    struct side *s = context;
    s->closed++;
    s->code = why->code;
    (void)snprintf(s->why, sizeof(s->why), "%s", why->text);
    link_free(s->link);
    s->link = NULL;
    loop_end(&loop);
}

static const struct link_events events = {.opened = opened, .message = heard, .closed = closed};

static void out_of_patience(void *context) {
    (void)context;
    CU_FAIL("waited too long");
    loop_end(&loop);
}

static void run(void) {
    struct error err;
    patience = (struct timer){.fire = out_of_patience};
    loop_after(&loop, &patience, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    loop_cancel(&loop, &patience);
}

static void join(struct side *a, struct side *b, SSL_CTX *server, SSL_CTX *client) {
    struct error err;
    int fds[2];
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    a->link = link_new(&loop, fds[0], server, true, &events, a, &err);
    b->link = link_new(&loop, fds[1], client, false, &events, b, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a->link);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->link);
}

static void part(struct side *a, struct side *b) {
    link_free(a->link);
    link_free(b->link);
    loop_done(&loop);
}

static json_t *line(int number, size_t size) {
    static char text[60000];
    memset(text, 'x', sizeof(text));
    json_t *message = frame_new("line");
    (void)json_object_set_new(message, "number", json_integer(number));
    (void)json_object_set_new(message, "text", json_stringn(text, size));
    return message;
}

static void a_plain_link_carries_messages_both_ways(void) {
    struct side a = {.wanted = 15};
    struct side b = {.wanted = 1};
    join(&a, &b, NULL, NULL);
    for (int i = 0; i < 15; i++)
        link_send(b.link, line(i, 60000));
    CU_ASSERT(link_queued(b.link) > 800000);
    run();
    CU_ASSERT_EQUAL(a.messages, 15);
    link_send(a.link, line(0, 5));
    run();
    CU_ASSERT_EQUAL(b.messages, 1);
    link_free(a.link);
    a.link = NULL;
    run();
    CU_ASSERT_EQUAL(b.closed, 1);
    CU_ASSERT_EQUAL(b.code, EXIT_CODE_HOST_LOST);
    part(&a, &b);
}

static SSL_CTX *context_of(unsigned char fill, int is_server) {
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    memset(key, fill, sizeof(key));
    return tls_context_new(key, is_server, &err);
}

static void a_link_with_the_key_opens_and_carries_messages(void) {
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *client = context_of(1, 0);
    struct side a = {.wanted = 10};
    struct side b = {0};
    join(&a, &b, server, client);
    for (int i = 0; i < 10; i++)
        link_send(b.link, line(i, 60000)); /* before it is open: waits */
    run();
    CU_ASSERT_EQUAL(a.messages, 10);
    CU_ASSERT_EQUAL(a.opened + b.opened, 2);
    part(&a, &b);
    tls_context_free(server);
    tls_context_free(client);
}

static void a_link_with_another_key_closes_as_refused(void) {
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *client = context_of(2, 0);
    struct side a = {0};
    struct side b = {0};
    join(&a, &b, server, client);
    run();
    if (b.closed == 0)
        run();
    CU_ASSERT_EQUAL(a.code, EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_EQUAL(b.code, EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(b.why, "image build");
    ASSERT_CONTAINS(b.why, "list of hosts");
    ASSERT_CONTAINS(b.why, "job's name");
    CU_ASSERT_EQUAL(a.opened + b.opened, 0);
    part(&a, &b);
    tls_context_free(server);
    tls_context_free(client);
}

static void a_link_may_be_freed_by_its_own_message(void) {
    struct side a = {.wanted = 1, .free_when_heard = true};
    struct side b = {0};
    join(&a, &b, NULL, NULL);
    link_send(b.link, line(0, 10));
    link_send(b.link, line(1, 10));
    run();
    CU_ASSERT_EQUAL(a.messages, 1);
    CU_ASSERT_EQUAL(a.closed, 0);
    part(&a, &b);
}

static void a_peer_that_does_not_read_is_cut_off(void) {
    struct side a = {0};
    struct side b = {0};
    join(&a, &b, NULL, NULL);
    for (int i = 0; i < LINK_QUEUE_MAX / 60000 + 1; i++)
        link_send(b.link, line(i, 60000));
    run();
    CU_ASSERT_EQUAL(a.closed + b.closed, 1);
    part(&a, &b);
}

static void noise_closes_the_link_with_a_reason(void) {
    struct error err;
    struct side a = {0};
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    a.link = link_new(&loop, fds[0], NULL, false, &events, &a, &err);
    CU_ASSERT_EQUAL(write(fds[1], "GET / HTTP/1.1\r\n", 16), 16);
    run();
    CU_ASSERT_EQUAL(a.closed, 1);
    ASSERT_CONTAINS(a.why, "above the 65536 allowed");
    (void)close(fds[1]);
    loop_done(&loop);
}

static void a_descriptor_comes_along_with_a_message(void) {
    struct error err;
    struct side a = {.wanted = 1};
    int fds[2];
    int carried[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(carried), 0);
    a.link = link_new(&loop, fds[0], NULL, false, &events, &a, &err);
    json_t *message = line(0, 3);
    CU_ASSERT_EQUAL(link_send_fds(fds[1], message, carried, 2, &err), 0);
    json_decref(message);
    run();
    int from = link_take_fd(a.link);
    int to = link_take_fd(a.link);
    CU_ASSERT(from >= 0 && to >= 0);
    CU_ASSERT_EQUAL(link_take_fd(a.link), -1);
    CU_ASSERT_EQUAL(fcntl(from, F_GETFD), FD_CLOEXEC);
    char byte = 0;
    CU_ASSERT_EQUAL(write(carried[1], "y", 1), 1);
    CU_ASSERT_EQUAL(read(from, &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'y');
    link_free(a.link);
    loop_done(&loop);
    for (int i = 0; i < 2; i++) {
        (void)close(carried[i]);
        (void)close(i == 0 ? from : to);
    }
    (void)close(fds[1]);
}

/* The descriptor goes with its own message, after those queued before it: a reader may find both at
 * once. */
static void a_link_sends_a_descriptor_too(void) {
    struct side a = {.loop = &loop};
    struct error err;
    int fds[2];
    int carried[2];
    static char room[2 * 64 * 1024];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(carried), 0);
    a.link = link_new(&loop, fds[0], NULL, false, &events, &a, &err);
    link_send(a.link, line(0, 3));
    link_send_fd(a.link, line(1, 3), carried[1]);
    link_send(a.link, line(2, 3));
    (void)close(carried[1]);
    size_t all = link_queued(a.link);
    link_flush(a.link);
    struct iovec piece = {.iov_base = room, .iov_len = sizeof(room)};
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control)};
    CU_ASSERT_EQUAL(recvmsg(fds[1], &header, MSG_DONTWAIT), (ssize_t)all);
    CU_ASSERT_NOT_EQUAL_FATAL(header.msg_controllen, 0);
    int got = -1;
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(got));
    char byte = 0;
    CU_ASSERT_EQUAL(write(got, "y", 1), 1);
    CU_ASSERT_EQUAL(read(carried[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'y');
    link_free(a.link);
    loop_done(&loop);
    (void)close(carried[0]);
    (void)close(fds[1]);
    (void)close(got);
}

/* What a server without the key is good for once its certificate is believed. */
static void a_link_to_a_master_that_did_not_prove_the_key_never_opens(void) {
    SSL_CTX *server = SSL_CTX_new(TLS_server_method());
    SSL_CTX *client = context_of(1, 0);
    struct side a = {0};
    struct side b = {0};
    give_certificate(server);
    SSL_CTX_set_verify(client, SSL_VERIFY_NONE, NULL);
    join(&a, &b, server, client);
    run();
    if (b.closed == 0)
        run();
    CU_ASSERT_EQUAL(b.opened, 0);
    CU_ASSERT_EQUAL(b.closed, 1);
    CU_ASSERT_EQUAL(b.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(b.why, "did not prove the job's key");
    part(&a, &b);
    SSL_CTX_free(server);
    tls_context_free(client);
}

static void a_handshake_has_five_seconds(void) {
    struct error err;
    struct side a = {0};
    int fds[2];
    SSL_CTX *server = context_of(1, 1);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    held_clock_begin();
    int64_t start = clock_now();
    a.link = link_new(&loop, fds[0], server, true, &events, &a, &err);
    run();
    CU_ASSERT_EQUAL(clock_now() - start, 5 * CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT_EQUAL(a.closed, 1);
    CU_ASSERT_EQUAL(a.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(a.why, "no handshake within 5 s");
    (void)close(fds[1]);
    loop_done(&loop);
    tls_context_free(server);
}

static int option_of(int fd, int level, int option) {
    int value = -1;
    socklen_t size = sizeof(value);
    CU_ASSERT_EQUAL(getsockopt(fd, level, option, &value, &size), 0);
    return value;
}

static void the_kernel_gives_a_silent_peer_up_after_ten_seconds_or_as_told(void) {
    struct error err;
    struct side a = {0};
    SSL_CTX *client = context_of(1, 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.link = link_new(&loop, fd, client, false, &events, &a, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a.link);
    CU_ASSERT_EQUAL(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    CU_ASSERT_EQUAL(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 10000);
    link_set_silence(a.link, 60);
    CU_ASSERT_EQUAL(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
    CU_ASSERT(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
                  option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
                      option_of(fd, IPPROTO_TCP, TCP_KEEPCNT) <=
              11);
    CU_ASSERT_EQUAL(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    link_free(a.link);
    loop_done(&loop);
    tls_context_free(client);
}

/* Refuses whatever it hears, from within its own callback. */
static void refuse_it(void *context, const json_t *message) {
    struct side *s = context;
    (void)message;
    link_part(s->link, line(0, 10));
    s->link = NULL;
}

static const struct link_events refusing = {.message = refuse_it, .closed = closed};

static void last_words_said_inside_a_callback_arrive(void) {
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *client = context_of(1, 0);
    struct side a = {0};
    struct side b = {.wanted = 1};
    join(&a, &b, server, client);
    link_own(a.link, &refusing, &a);
    link_send(b.link, line(0, 10));
    run();
    CU_ASSERT_EQUAL(b.messages, 1);
    CU_ASSERT_PTR_NULL(a.link);
    CU_ASSERT_EQUAL(a.closed, 0);
    part(&a, &b);
    tls_context_free(server);
    tls_context_free(client);
}

static void answer_at_once(void *context, const json_t *message) {
    struct side *s = context;
    heard(context, message);
    link_send(s->link, line(0, 10));
    link_flush(s->link);
    CU_ASSERT_EQUAL(link_queued(s->link), 0);
}

static const struct link_events answering = {
    .opened = opened, .message = answer_at_once, .closed = closed};

/* A link that is flushed inside its own callback sends at once. */
static void what_is_flushed_inside_a_callback_goes_out_there(void) {
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *client = context_of(1, 0);
    struct side a = {0};
    struct side b = {.wanted = 1};
    join(&a, &b, server, client);
    link_own(a.link, &answering, &a);
    link_send(b.link, line(0, 10));
    run();
    CU_ASSERT_EQUAL(a.messages, 1);
    CU_ASSERT_EQUAL(b.messages, 1);
    part(&a, &b);
    tls_context_free(server);
    tls_context_free(client);
}

static void close_and_flush(void *context, const json_t *message) {
    struct side *s = context;
    (void)message;
    (void)shutdown(s->far, SHUT_RDWR);
    link_send(s->link, line(0, 10));
    link_flush(s->link);
    CU_ASSERT_EQUAL(s->closed, 1);
    CU_ASSERT_PTR_NULL(s->link);
}

static const struct link_events breaking = {.message = close_and_flush, .closed = closed};

/* Its owner frees it in closed(), while its own message is still being heard. */
static void a_link_may_break_where_it_is_flushed_inside_a_callback(void) {
    struct error err;
    int fds[2];
    struct side a = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    a.far = fds[1];
    a.link = link_new(&loop, fds[0], NULL, true, &breaking, &a, &err);
    json_t *message = line(0, 10);
    CU_ASSERT_EQUAL(link_send_fds(fds[1], message, &fds[1], 1, &err), 0);
    json_decref(message);
    run();
    CU_ASSERT_EQUAL(a.closed, 1);
    (void)close(fds[1]);
    loop_done(&loop);
}

static void a_message_of_another_version_ends_the_link_by_that_name(void) {
    struct side a = {0};
    struct side b = {0};
    join(&a, &b, NULL, NULL);
    link_send(b.link, frame_new_for(FRAME_VERSION + 1, "line"));
    run();
    CU_ASSERT_EQUAL(a.messages, 0);
    CU_ASSERT_EQUAL(a.closed, 1);
    CU_ASSERT_EQUAL(a.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(a.why, "the peer speaks version 5 of the control link, this host version 4");
    part(&a, &b);
}

UNIT_SUITE("wire.link", UNIT(a_plain_link_carries_messages_both_ways),
           UNIT(a_link_with_the_key_opens_and_carries_messages),
           UNIT(a_link_with_another_key_closes_as_refused),
           UNIT(a_link_may_be_freed_by_its_own_message), UNIT(a_peer_that_does_not_read_is_cut_off),
           UNIT(noise_closes_the_link_with_a_reason),
           UNIT(a_link_to_a_master_that_did_not_prove_the_key_never_opens),
           UNIT(a_handshake_has_five_seconds),
           UNIT(the_kernel_gives_a_silent_peer_up_after_ten_seconds_or_as_told),
           UNIT(last_words_said_inside_a_callback_arrive),
           UNIT(what_is_flushed_inside_a_callback_goes_out_there),
           UNIT(a_link_may_break_where_it_is_flushed_inside_a_callback),
           UNIT(a_message_of_another_version_ends_the_link_by_that_name),
           UNIT(a_descriptor_comes_along_with_a_message), UNIT(a_link_sends_a_descriptor_too))
