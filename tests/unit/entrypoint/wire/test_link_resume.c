#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A link with both of its ends in one loop. */
struct side {
    struct link *link;
    int opened;
    int messages; /* all in order, or an assertion has failed */
    int closed;
};

static struct loop loop;
static struct timer patience;
static SSL_CTX *server;
static SSL_CTX *client;
static struct side a;
static struct side b;
static int until; /* the loop ends after so many messages at A */

static void opened(void *context) {
    struct side *s = context;
    s->opened++;
    if (a.opened > 0 && b.opened > 0)
        loop_end(&loop);
}

static void heard(void *context, const json_t *message) {
    struct side *s = context;
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "number")), s->messages);
    s->messages++;
    if (s == &a && s->messages == until)
        loop_end(&loop);
}

static void closed(void *context, const struct error *why) {
    struct side *s = context;
    (void)why;
    s->closed++;
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
    patience = (struct timer){.fire = out_of_patience};
    loop_after(&loop, &patience, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    loop_cancel(&loop, &patience);
}

static void connect_pair(struct side *at_server, struct side *at_client) {
    struct error err;
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    at_server->link = link_new(&loop, fds[0], server, true, &events, at_server, &err);
    at_client->link = link_new(&loop, fds[1], client, false, &events, at_client, &err);
    CU_ASSERT_FATAL(at_server->link != NULL && at_client->link != NULL);
}

static void set_up(void) {
    unsigned char key[TLS_KEY_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    memset(key, 1, sizeof(key));
    server = tls_context_new(key, 1, NULL);
    client = tls_context_new(key, 0, NULL);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    a = b = (struct side){0};
    connect_pair(&a, &b);
    run();
}

static void tear_down(void) {
    link_free(a.link);
    link_free(b.link);
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(client);
}

static void say(struct side *s, int from, int to, size_t filler) {
    static char text[60000];
    memset(text, 'x', sizeof(text));
    for (int i = from; i < to; i++) {
        json_t *message = frame_new("line");
        (void)json_object_set_new(message, "number", json_integer(i));
        (void)json_object_set_new(message, "text", json_stringn(text, filler));
        link_send(s->link, message);
    }
}

/* Resumes both ends over a new connection. */
static void resume(void) {
    struct side fresh_a = {0};
    struct side fresh_b = {0};
    connect_pair(&fresh_a, &fresh_b);
    while (fresh_a.opened == 0 || fresh_b.opened == 0)
        CU_ASSERT_EQUAL_FATAL(loop_run(&loop, NULL), 0);
    uint64_t at_a = link_taken(a.link);
    uint64_t at_b = link_taken(b.link);
    CU_ASSERT(link_resume(a.link, fresh_a.link, at_b, 10));
    CU_ASSERT(link_resume(b.link, fresh_b.link, at_a, 10));
    CU_ASSERT_EQUAL(a.closed + b.closed, 0);
}

static void both_ends_have_one_name_and_no_other_link_has(void) {
    char name[TLS_NAME_SIZE];
    set_up();
    CU_ASSERT_EQUAL(strlen(link_name(a.link)), TLS_NAME_SIZE - 1);
    CU_ASSERT_STRING_EQUAL(link_name(a.link), link_name(b.link));
    (void)snprintf(name, sizeof(name), "%s", link_name(a.link));
    tear_down();
    set_up();
    CU_ASSERT_STRING_NOT_EQUAL(link_name(a.link), name);
    tear_down();
}

/* What A had not read when its connection ended arrives over the next one; what it had read is not
 * sent again. */
static void nothing_is_lost_and_nothing_comes_twice(void) {
    set_up();
    say(&b, 0, 20, 100);
    until = 20;
    run();
    link_hold(a.link, true);
    say(&b, 20, 40, 5000); /* written into a connection that nobody reads */
    link_flush(b.link);
    say(&a, 0, 3, 10);
    link_hold(b.link, true);
    say(&b, 40, 50, 10);
    resume();
    until = 60;
    say(&b, 50, 60, 10);
    run();
    CU_ASSERT_EQUAL(a.messages, 60);
    CU_ASSERT_EQUAL(b.messages, 3);
    tear_down();
}

/* The messages far exceed a window, so that acknowledgements have to flow, over several
 * connections. */
static void a_flood_arrives_whole_over_many_connections(void) {
    set_up();
    for (int i = 0; i < 3; i++) {
        say(&b, 100 * i, 100 * (i + 1), 50000);
        until = 100 * i + 40;
        run();
        resume();
    }
    until = 300;
    if (a.messages < until)
        run();
    CU_ASSERT_EQUAL(a.messages, 300);
    CU_ASSERT_EQUAL(a.closed + b.closed, 0);
    tear_down();
}

static void a_number_that_does_not_fit_leaves_the_link_as_it_was(void) {
    struct side fresh_a = {0};
    struct side fresh_b = {0};
    set_up();
    say(&b, 0, 1, 10);
    until = 1;
    run();
    connect_pair(&fresh_a, &fresh_b);
    while (fresh_a.opened == 0 || fresh_b.opened == 0)
        CU_ASSERT_EQUAL_FATAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_FALSE(link_resume(b.link, fresh_b.link, 7, 10));
    run(); /* until the other end of the new connection has ended */
    CU_ASSERT_EQUAL(fresh_a.closed, 1);
    say(&b, 1, 2, 10);
    until = 2;
    run();
    CU_ASSERT_EQUAL(a.messages, 2);
    tear_down();
}

/* The end of the peer, which came while the link was held, is noticed when the link is released. */
static void a_link_that_is_held_notices_nothing(void) {
    set_up();
    link_hold(b.link, true);
    say(&a, 0, 1, 10);
    link_flush(a.link);
    link_free(a.link);
    a.link = NULL;
    CU_ASSERT_EQUAL(b.messages + b.closed, 0);
    link_hold(b.link, false);
    run();
    CU_ASSERT_EQUAL(b.messages, 1);
    CU_ASSERT_EQUAL(b.closed, 1);
    tear_down();
}

static void a_false_acknowledgement_ends_the_link(void) {
    set_up();
    link_send(b.link, frame_with("taken", json_pack("{s:i}", "count", 5)));
    run();
    CU_ASSERT_EQUAL(a.closed, 1);
    CU_ASSERT_EQUAL(a.messages, 0);
    tear_down();
}

UNIT_SUITE("wire.link_resume", UNIT(both_ends_have_one_name_and_no_other_link_has),
           UNIT(nothing_is_lost_and_nothing_comes_twice),
           UNIT(a_flood_arrives_whole_over_many_connections),
           UNIT(a_number_that_does_not_fit_leaves_the_link_as_it_was),
           UNIT(a_link_that_is_held_notices_nothing), UNIT(a_false_acknowledgement_ends_the_link))
