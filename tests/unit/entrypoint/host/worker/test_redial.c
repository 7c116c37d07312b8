#include "entrypoint/host/worker/redial.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/listener.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/held_clock.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

/* A worker's link to a listener that plays the master. The heartbeat interval is half a second,
 * and a peer counts as silent after one second. */
static struct job job;
static struct supervisor s;
static struct redial redial;
static struct listener acceptor;
static SSL_CTX *server;
static struct link *at_master;
static struct link *at_worker;
static int dialled; /* how often the master was asked to resume */
static int awaited; /* the loop ends when it was asked so often; 0: never */
static bool refuses;
static bool mute;         /* the master closes the new connection without an answer */
static bool loses_answer; /* the master moves the link, but its answer is lost */
static bool stops_when_resumed;
static int resumed_count;
static int refused_count;
static char why[ERROR_TEXT_MAX];
static int lines; /* how many the master has received */
static int wanted;
static int master_closed;

static void master_heard(void *context, const json_t *message) {
    (void)context;
    if (strcmp(frame_type(message), "line") != 0)
        return;
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "number")), lines);
    lines++;
    if (lines == wanted)
        loop_end(&s.loop);
}

static void master_end(void *context, const struct error *error) {
    (void)context;
    (void)error;
    master_closed++;
    link_free(at_master);
    at_master = NULL;
}

static const struct link_events master_events = {.message = master_heard, .closed = master_end};

static void leave_alone(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static void worker_end(void *context, const struct error *error) {
    (void)context;
    (void)error;
    CU_FAIL("the worker's link has ended");
}

static void worker_opened(void *context) {
    (void)context;
    link_send(at_worker, frame_new("join"));
}

static const struct link_events worker_events = {
    .opened = worker_opened, .message = leave_alone, .closed = worker_end};

static void forget(void *context, const struct error *error) {
    (void)context;
    (void)error;
}

static const struct link_events passing = {.message = leave_alone, .closed = forget};

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    if (strcmp(frame_type(message), "join") == 0) {
        at_master = link;
        link_own(link, &master_events, NULL);
        loop_end(&s.loop);
        return;
    }
    CU_ASSERT_STRING_EQUAL(frame_type(message), "resume");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(message, "link")),
                           link_name(at_master));
    if (++dialled == awaited)
        loop_end(&s.loop);
    link_own(link, &passing, NULL);
    if (mute) {
        link_free(link);
        return;
    }
    if (refuses) {
        json_t *words = json_pack("{s:i, s:s}", "code", EXIT_CODE_HOST_LOST, "text", "unknown");
        link_part(link, frame_with("refuse", words));
        return;
    }
    json_int_t taken = json_integer_value(json_object_get(message, "taken"));
    json_t *words = json_pack("{s:I}", "taken", (json_int_t)link_taken(at_master));
    if (loses_answer)
        json_decref(words);
    else
        link_send(link, frame_with("resumed", words));
    link_flush(link);
    CU_ASSERT(link_resume(at_master, link, (uint64_t)taken, 10));
}

static const struct listener_events acceptor_events = {.arrived = arrived};

static void resumed(void *context) {
    (void)context;
    resumed_count++;
    if (!stops_when_resumed)
        return;
    redial_stop(&redial);
    loop_end(&s.loop);
}

static void refused(void *context, const struct error *error) {
    (void)context;
    refused_count++;
    CU_ASSERT_EQUAL(error->code, EXIT_CODE_HOST_LOST);
    (void)snprintf(why, sizeof(why), "%s", error->text);
    loop_end(&s.loop);
}

static const struct redial_events events = {resumed, refused};

static void give_up(void *context) {
    (void)context;
    loop_end(&s.loop);
}

/* Runs the loop until something ends it, or for TIME. */
static void run_for(int64_t time) {
    struct timer timer = {.fire = give_up};
    loop_after(&s.loop, &timer, time);
    CU_ASSERT_EQUAL(loop_run(&s.loop, NULL), 0);
    loop_cancel(&s.loop, &timer);
}

static void set_up(void) {
    static struct cluster_host hosts[2];
    struct net_address at = address_of("127.0.0.3");
    struct error err;
    unsigned char key[TLS_KEY_SIZE];
    (void)signal(SIGPIPE, SIG_IGN);
    memset(key, 1, sizeof(key));
    dialled = awaited = resumed_count = refused_count = lines = wanted = master_closed = 0;
    refuses = mute = loses_answer = stops_when_resumed = false;
    job = (struct job){.settings = {.dead_seconds = 10},
                       .cluster = {.hosts = hosts, .count = 2, .self = 1},
                       .ports = {.control = ports_own()}};
    s = (struct supervisor){.job = &job, .contexts.tls = tls_context_new(key, 0, NULL)};
    server = tls_context_new(key, 1, NULL);
    CU_ASSERT_EQUAL_FATAL(loop_init(&s.loop, NULL), 0);
    int listener = listener_listen(&at, job.ports.control, LISTENER_CONTROL, NULL);
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&acceptor, &s.loop, listener, server, &acceptor_events, NULL, NULL), 0);
    at_worker =
        dial_address(&s.loop, &at, job.ports.control, s.contexts.tls, &worker_events, NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at_worker);
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at_master);
    redial_start(&redial, &s, at_worker, &at, &events, NULL);
}

static void tear_down(void) {
    redial_stop(&redial);
    link_free(at_worker);
    link_free(at_master);
    at_master = at_worker = NULL;
    listener_close(&acceptor);
    loop_done(&s.loop);
    tls_context_free(server);
    tls_context_free(s.contexts.tls);
}

static void say(int from, int to) {
    for (int i = from; i < to; i++)
        link_send(at_worker, frame_with("line", json_pack("{s:i}", "number", i)));
}

/* The master no longer reads from the first connection, as if it were cut. */
static void the_link_goes_on_over_another_connection(void) {
    set_up();
    link_hold(at_master, true);
    int64_t since = clock_now();
    say(0, 5);
    wanted = 5;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(lines, 5);
    CU_ASSERT(clock_now() - since >= CLOCK_SECOND);
    CU_ASSERT_EQUAL(dialled, 1);
    run_for(CLOCK_SECOND / 10);
    CU_ASSERT_EQUAL(resumed_count, 1);
    wanted = 7;
    say(5, 7);
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(lines, 7);
    CU_ASSERT_EQUAL(refused_count + master_closed, 0);
    tear_down();
}

static void a_peer_that_is_heard_is_not_dialled(void) {
    set_up();
    held_clock_begin();
    redial_heard(&redial);
    for (int i = 0; i < 6; i++) {
        run_for(CLOCK_SECOND / 4);
        redial_heard(&redial);
    }
    held_clock_end();
    CU_ASSERT_EQUAL(dialled, 0);
    CU_ASSERT_PTR_NULL(redial.fresh);
    tear_down();
}

static void a_peer_that_knows_the_link_no_more_ends_it(void) {
    set_up();
    refuses = true;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(refused_count, 1);
    ASSERT_CONTAINS(why, "unknown");
    CU_ASSERT_PTR_NULL(redial.link);
    tear_down();
}

/* The worker asks again until it gets an answer; meanwhile the first connection may have ended
 * unnoticed. */
static void a_peer_that_goes_away_when_asked_is_asked_again(void) {
    set_up();
    mute = true;
    awaited = 2;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(dialled, 2);
    mute = false;
    say(0, 1);
    wanted = 1;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(lines, 1);
    tear_down();
}

/* The master has moved the link to a connection that the worker gives up, as no answer arrives. */
static void an_answer_that_is_lost_ends_no_link(void) {
    set_up();
    loses_answer = true;
    awaited = 1;
    run_for(60 * CLOCK_SECOND);
    run_for(CLOCK_SECOND);
    CU_ASSERT_EQUAL(dialled, 1);
    CU_ASSERT_NOT_EQUAL(redial.asked, 0);
    loses_answer = false;
    redial.asked -= 2 * LINK_HANDSHAKE_SECONDS * CLOCK_SECOND;
    say(0, 3);
    wanted = 3;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(lines, 3);
    CU_ASSERT_EQUAL(dialled, 2);
    run_for(CLOCK_SECOND / 10);
    CU_ASSERT_EQUAL(resumed_count, 1);
    CU_ASSERT_PTR_NULL(redial.late);
    CU_ASSERT_EQUAL(refused_count + master_closed, 0);
    tear_down();
}

static void an_owner_may_stop_it_when_it_hears_of_the_peer(void) {
    set_up();
    stops_when_resumed = true;
    run_for(60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(resumed_count, 1);
    CU_ASSERT_PTR_NULL(redial.link);
    CU_ASSERT_PTR_NULL(redial.fresh);
    tear_down();
}

UNIT_SUITE("host.redial", UNIT(the_link_goes_on_over_another_connection),
           UNIT(a_peer_that_is_heard_is_not_dialled),
           UNIT(a_peer_that_knows_the_link_no_more_ends_it),
           UNIT(a_peer_that_goes_away_when_asked_is_asked_again),
           UNIT(an_answer_that_is_lost_ends_no_link),
           UNIT(an_owner_may_stop_it_when_it_hears_of_the_peer))
