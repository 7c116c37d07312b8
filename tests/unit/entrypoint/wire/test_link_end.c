/* How a link ends when a process exits, and when an owner ends it (link_peer_exited). */
#include "entrypoint/wire/link.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link_state.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two links with TLS are joined by TCP over the loopback interface, since a socket pair knows
 * neither FIN nor RST. Side B ends in one of four ways, and what side A makes of it is compared:
 * only the way of the kernel, for a process that has ended, may count as such. Members of the link
 * that no owner sees (link_state.h) are set to bring about what is rare in life. */

/* What one side has noticed: messages, and the end with its code. LINK is NULL once it has
 * ended. */
struct side {
    struct link *link;
    int messages;
    int closed;
    enum exit_code code;
    bool exited; /* the end of the link showed that the peer's process exited */
};

static struct loop loop;
/* Ends a case that would wait for ever. */
static struct timer patience;

/* The first message proves that both sides are open. */
static void heard(void *context, const json_t *message) {
    struct side *s = context;
    (void)message;
    s->messages++;
    loop_end(&loop);
}

/* As an owner does: asks how the link ended, and frees it. */
static void closed(void *context, const struct error *why) {
    struct side *s = context;
    s->closed++;
    s->code = why->code;
    s->exited = link_peer_exited(s->link);
    link_free(s->link);
    s->link = NULL;
    loop_end(&loop);
}

static const struct link_events events = {.message = heard, .closed = closed};

static void out_of_patience(void *context) {
    (void)context;
    CU_FAIL("waited too long");
    loop_end(&loop);
}

/* Until a callback ends the loop, a minute at most. */
static void run(void) {
    struct error err;
    patience = (struct timer){.fire = out_of_patience};
    loop_after(&loop, &patience, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    loop_cancel(&loop, &patience);
}

/* A message with about SIZE bytes of text. */
static json_t *line(int number, size_t size) {
    static char text[60000];
    memset(text, 'x', sizeof(text));
    json_t *message = frame_new("line");
    (void)json_object_set_new(message, "number", json_integer(number));
    (void)json_object_set_new(message, "text", json_stringn(text, size));
    return message;
}

/* A context with a key of one byte repeated; both sides have the same one here, so the handshake
 * succeeds. */
static SSL_CTX *context_of(unsigned char fill, int is_server) {
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    memset(key, fill, sizeof(key));
    return tls_context_new(key, is_server, &err);
}

/* Frees what is left of both sides and the loop. */
static void part(struct side *a, struct side *b) {
    link_free(a->link);
    link_free(b->link);
    loop_done(&loop);
}

/* FDS[0] is the server's end, FDS[1] the client's. */
static void connect_pair(int fds[2]) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(to);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&to, size), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&to, &size), 0);
    fds[1] = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fds[1], (struct sockaddr *)&to, size), 0);
    fds[0] = accept(listener, NULL, NULL);
    (void)close(listener);
}

/* Opens a link with TLS over TCP and ends side B with END. Returns when side A has noticed. */
static void end_by(struct side *a, struct side *b, void (*end)(struct side *b)) {
    struct error err;
    int fds[2];
    SSL_CTX *server = context_of(1, 1);
    SSL_CTX *client = context_of(1, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    connect_pair(fds);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    a->link = link_new(&loop, fds[0], server, true, &events, a, &err);
    b->link = link_new(&loop, fds[1], client, false, &events, b, &err);
    link_send(b->link, line(0, 10));
    run();
    CU_ASSERT_EQUAL_FATAL(a->messages, 1);
    end(b);
    /* Messages may come before the end. */
    while (a->closed == 0)
        run();
    part(a, b);
    tls_context_free(server);
    tls_context_free(client);
}

/* The owner has no more use for the link: it ends with a farewell. */
static void free_it(struct side *b) {
    link_free(b->link);
    b->link = NULL;
}

/* Does what the kernel does when a process ends: the stream ends in order, and nothing of TLS is
 * said. */
static void end_the_process(struct side *b) {
    (void)shutdown(b->link->watch.fd, SHUT_WR);
}

/* Makes the queue overflow, so that the link ends by itself: a message was lost, and the connection
 * must not look as if all had been sent. */
static void cut_it(struct side *b) {
    /* Held, the link sends nothing, so the queue fills up. */
    link_hold(b->link, true);
    for (int i = 0; i < LINK_QUEUE_MAX / 60000 + 1; i++)
        link_send(b->link, line(1 + i, 60000));
    CU_ASSERT(b->link->cut);
    link_hold(b->link, false);
}

/* As after a failed read or write: the link cannot send a farewell any more and is reset. */
static void fail_it(struct side *b) {
    b->link->broken = true;
    free_it(b);
}

/* The owner hears of the end once, with the same code in all four ways. */
static void only_the_end_of_a_process_looks_like_it(void) {
    void (*const ends[])(struct side *) = {free_it, cut_it, fail_it, end_the_process};
    for (size_t i = 0; i < 4; i++) {
        struct side a = {0};
        struct side b = {0};
        end_by(&a, &b, ends[i]);
        CU_ASSERT_EQUAL(a.closed, 1);
        CU_ASSERT_EQUAL(a.code, EXIT_CODE_HOST_LOST);
        CU_ASSERT_EQUAL(a.exited, ends[i] == end_the_process);
        CU_ASSERT_FALSE(b.exited);
    }
}

UNIT_SUITE("wire.link_end", UNIT(only_the_end_of_a_process_looks_like_it))
