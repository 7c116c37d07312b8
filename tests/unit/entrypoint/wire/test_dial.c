#include "entrypoint/wire/dial.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/listener.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/lag.h"
#include "tests/support/ports.h"
#include "tests/support/quiet_link.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Dialler and acceptor in one loop. */
static struct loop loop;
static struct reaper reaper;
static struct listener acceptor;
static struct dial dial;
static struct link *link_at_acceptor;
static struct link *link_at_dial;
static int opened_count;
static int refused_count;
static int refused_once_count;
static int round_failed_count;
static struct lag *refused_once_lag; /* for the report that has to come soon */
static uint16_t port;
static SSL_CTX *server;
static SSL_CTX *client;

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "join");
    link_own(link, &quiet_link, NULL);
    link_at_acceptor = link;
    loop_end(&loop);
}

static const struct listener_events acceptor_events = {.arrived = arrived};

static void opened(void *context, struct link *link, const struct net_address *peer) {
    (void)context;
    ASSERT_ADDRESS(peer, "127.0.0.1");
    opened_count++;
    link_at_dial = link;
    link_own(link, &quiet_link, NULL);
    link_send(link, frame_new("join"));
}

static void refused_once(void *context, const struct net_address *peer, const struct error *why) {
    (void)context;
    ASSERT_ADDRESS(peer, "127.0.0.1");
    CU_ASSERT_EQUAL(why->code, EXIT_CODE_KEY_REFUSED);
    refused_once_count++;
    if (refused_once_lag != NULL)
        ASSERT_WITHIN(refused_once_lag, 2 * CLOCK_SECOND);
    refused_once_lag = NULL;
}

static void refused(void *context, const struct error *why) {
    (void)context;
    CU_ASSERT_EQUAL(why->code, EXIT_CODE_KEY_REFUSED);
    refused_count++;
    loop_end(&loop);
}

static void round_failed(void *context) {
    (void)context;
    round_failed_count++;
}

static const struct dial_events dial_events = {opened, refused_once, refused, round_failed};

static void open_acceptor(void *context) {
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    int listener = listener_listen(&loopback, port, LISTENER_CONTROL, &err);
    (void)context;
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&acceptor, &loop, listener, server, &acceptor_events, NULL, &err), 0);
}

static void set_up(unsigned char client_key) {
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    opened_count = refused_count = refused_once_count = round_failed_count = 0;
    link_at_acceptor = link_at_dial = NULL;
    memset(key, 1, sizeof(key));
    server = tls_context_new(key, 1, &err);
    memset(key, client_key, sizeof(key));
    client = tls_context_new(key, 0, &err);
    port = ports_own();
    reaping_open(&loop, &reaper);
}

static void tear_down(void) {
    dial_stop(&dial);
    link_free(link_at_acceptor);
    link_free(link_at_dial);
    listener_close(&acceptor);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(client);
}

static void open_when_round_failed(void *context) {
    if (round_failed_count++ == 0)
        open_acceptor(context);
}

static void a_master_that_comes_late_is_found(void) {
    static const struct dial_events late = {opened, refused_once, refused, open_when_round_failed};
    struct error err;
    set_up(1);
    dial_start(&dial, &loop, &reaper, client, "localhost", port, &late, NULL);
    CU_ASSERT_STRING_EQUAL(dial_why(&dial)->text, "no answer yet");
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(opened_count, 1);
    CU_ASSERT_PTR_NOT_NULL(link_at_acceptor);
    ASSERT_CONTAINS(dial.why.text, "refused"); /* the connection, at first */
    CU_ASSERT_EQUAL(round_failed_count, 1);
    tear_down();
}

static void another_key_is_reported_at_once_and_given_up_in_the_end(void) {
    struct error err;
    set_up(2);
    open_acceptor(NULL);
    struct lag lag;
    struct lag soon;
    int64_t start = clock_now();
    lag_begin(&lag);
    lag_begin(&soon);
    refused_once_lag = &soon;
    dial_start(&dial, &loop, &reaper, client, "127.0.0.1", port, &dial_events, NULL);
    CU_ASSERT_EQUAL(dial.patience, 30 * CLOCK_SECOND);
    dial.patience = 4 * CLOCK_SECOND;
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND); /* the last try is a second later at most */
    CU_ASSERT_EQUAL(refused_once_count, 1);
    CU_ASSERT_EQUAL(refused_count, 1);
    CU_ASSERT_EQUAL(opened_count, 0);
    CU_ASSERT_EQUAL(dial_why(&dial)->code, EXIT_CODE_KEY_REFUSED);
    CU_ASSERT(clock_now() - start >= 4 * CLOCK_SECOND);
    tear_down();
}

/* A child that looks a name up may hold the acceptor's socket for a moment. */
static void change_key(void *context) {
    unsigned char key[TLS_KEY_SIZE];
    struct error err;
    if (reaper.children != NULL) {
        loop_after(&loop, context, 10 * CLOCK_MILLISECOND);
        return;
    }
    CU_ASSERT_EQUAL(refused_once_count, 1);
    listener_close(&acceptor);
    tls_context_free(server);
    memset(key, 2, sizeof(key));
    server = tls_context_new(key, 1, &err);
    open_acceptor(NULL);
}

/* As where another job's host had the name before ours came. */
static void another_key_is_no_end_when_the_right_one_comes(void) {
    struct error err;
    struct timer later = {.fire = change_key, .context = &later};
    set_up(2);
    open_acceptor(NULL);
    loop_after(&loop, &later, 6 * CLOCK_SECOND);
    dial_start(&dial, &loop, &reaper, client, "127.0.0.1", port, &dial_events, NULL);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(opened_count, 1);
    CU_ASSERT_EQUAL(refused_count, 0);
    tear_down();
}

static void look_at_unreachable(void *context) {
    (void)context;
    round_failed_count++;
    if (round_failed_count == 3)
        loop_end(&loop);
}

static void run_to_third_miss(const char *name) {
    static const struct dial_events looks = {opened, refused_once, refused, look_at_unreachable};
    round_failed_count = 0;
    dial_start(&dial, &loop, &reaper, client, name, port, &looks, NULL);
    CU_ASSERT_EQUAL(dial_unreachable(&dial), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
}

/* Only where a machine that is there says so: a name that leads nowhere may come to lead somewhere.
 */
static void that_nobody_listens_is_known(void) {
    set_up(1);
    run_to_third_miss("127.0.0.1");
    CU_ASSERT(dial_unreachable(&dial) >= 200 * CLOCK_MILLISECOND); /* two pauses */
    dial_stop(&dial);
    run_to_third_miss("no-such-host.invalid");
    CU_ASSERT_EQUAL(dial_unreachable(&dial), 0);
    dial_stop(&dial);
    open_acceptor(NULL); /* somebody, with another key */
    tls_context_free(client);
    unsigned char key[TLS_KEY_SIZE] = {2};
    client = tls_context_new(key, 0, NULL);
    run_to_third_miss("127.0.0.1");
    CU_ASSERT_EQUAL(dial_unreachable(&dial), 0);
    tear_down();
}

UNIT_SUITE("wire.dial", UNIT(that_nobody_listens_is_known), UNIT(a_master_that_comes_late_is_found),
           UNIT(another_key_is_reported_at_once_and_given_up_in_the_end),
           UNIT(another_key_is_no_end_when_the_right_one_comes))
