#include "entrypoint/host/failover/find_master.h"

#include "common/clock.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/listener.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/addresses.h"
#include "tests/support/lag.h"
#include "tests/support/ports.h"
#include "tests/support/quiet_link.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { HOSTS = 4 };

static struct cluster_host hosts[HOSTS];
static struct job job;
static struct role_state role_state;
static struct loop loop;
static struct reaper reaper;
static SSL_CTX *tls;
static const struct services services = {
    .loop = &loop, .reaper = &reaper, .job = &job, .role_state = &role_state};
static struct find_master search;
static struct listener master_listener;
static struct link *link_at_master;
static struct link *link_at_worker;
static SSL_CTX *server;
static int refused_once_count;
static bool again; /* the master takes nobody yet, the first time */

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    (void)message;
    link_own(link, &quiet_link, NULL);
    link_free(link_at_master);
    link_at_master = link;
    if (!again)
        loop_end(&loop);
    else
        find_master_later(&search);
    again = false;
}

static const struct listener_events master_events = {.arrived = arrived};

static void opened(void *context, struct link *link, const struct net_address *peer) {
    (void)context;
    ASSERT_ADDRESS(peer, "127.0.0.3");
    link_own(link, &quiet_link, NULL);
    link_free(link_at_worker);
    link_at_worker = link;
    link_send(link, frame_new("join"));
}

static void refused_once(void *context, const struct net_address *peer, const struct error *why) {
    (void)context;
    (void)peer;
    CU_ASSERT_EQUAL(why->code, EXIT_CODE_KEY_REFUSED);
    refused_once_count++;
    loop_end(&loop);
}

static void refused(void *context, const struct error *why) {
    (void)context;
    (void)why;
    loop_end(&loop);
}

static int round_failed_count;
static int64_t round_failed_at;

static void round_failed(void *context) {
    (void)context;
    round_failed_count++;
    round_failed_at = clock_now();
    find_master_stop(&search);
    loop_end(&loop);
}

static const struct dial_events events = {opened, refused_once, refused, round_failed};

/* Host 2 of four; a master listens at the third. */
static void set_up(bool failover, unsigned char master_key) {
    unsigned char key[TLS_KEY_SIZE];
    struct net_address at = address_of("127.0.0.3");
    (void)signal(SIGPIPE, SIG_IGN);
    refused_once_count = round_failed_count = 0;
    link_at_master = link_at_worker = NULL;
    for (size_t i = 0; i < HOSTS; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "127.0.0.%zu", i + 1);
    }
    job = (struct job){.settings = {.failover = failover, .shrink = true, .restarts = 3},
                       .cluster = {.hosts = hosts, .count = HOSTS, .self = 1},
                       .ports = {.control = ports_own()}};
    CU_ASSERT_EQUAL_FATAL(role_state_open(&role_state, &job, NULL), 0);
    for (size_t i = 0; i < HOSTS; i++)
        CU_ASSERT(net_address_parse(hosts[i].name.text, &role_state.addresses[i]));
    memset(key, 1, sizeof(key));
    loop = (struct loop){0};
    reaper = (struct reaper){0};
    tls = tls_context_new(key, 0, NULL);
    memset(key, master_key, sizeof(key));
    server = tls_context_new(key, 1, NULL);
    reaping_open(&loop, &reaper);
    int listener = listener_listen(&at, job.ports.control, LISTENER_CONTROL, NULL);
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(
        listener_open(&master_listener, &loop, listener, server, &master_events, NULL, NULL), 0);
}

static void tear_down(void) {
    find_master_stop(&search);
    search = (struct find_master){0};
    link_free(link_at_master);
    link_free(link_at_worker);
    listener_close(&master_listener);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&loop);
    tls_context_free(server);
    tls_context_free(tls);
    role_state_close(&role_state);
}

static void give_up(void *context) {
    (void)context;
    loop_end(&loop);
}

static void run_for(int64_t seconds) {
    struct timer timer = {.fire = give_up};
    loop_after(&loop, &timer, seconds * CLOCK_SECOND);
    find_master_start(&search, &services, tls, &events, NULL);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    loop_cancel(&loop, &timer);
}

/* It is the first of the cluster then, as it is for its other workers. */
static void a_lost_host_finds_whoever_listens(void) {
    set_up(true, 1);
    role_state_return(&role_state, &job);
    run_for(60);
    CU_ASSERT_PTR_NOT_NULL(link_at_master);
    CU_ASSERT_STRING_EQUAL(hosts[0].name.text, "127.0.0.3");
    CU_ASSERT_EQUAL(job.cluster.self, 2);
    tear_down();
}

static void so_does_a_new_process(void) {
    set_up(true, 1);
    run_for(60);
    CU_ASSERT_PTR_NOT_NULL(link_at_master);
    CU_ASSERT_STRING_EQUAL(hosts[0].name.text, "127.0.0.3");
    tear_down();
}

static void one_that_is_not_taken_yet_asks_again(void) {
    set_up(true, 1);
    again = true;
    role_state_return(&role_state, &job);
    run_for(60);
    CU_ASSERT_FALSE(again);
    CU_ASSERT_PTR_NOT_NULL(link_at_master);
    tear_down();
}

/* To dial is to vote: a host that follows the one after the lost master asks no other host. */
static void others_ask_one_host_alone(void) {
    set_up(true, 1);
    job.cluster.self = 3;
    role_state_follow(&role_state, &job); /* the second */
    run_for(3);
    CU_ASSERT_PTR_NULL(link_at_master);
    CU_ASSERT_STRING_EQUAL(hosts[0].name.text, "127.0.0.2");
    tear_down();
    set_up(false, 1);
    role_state_return(&role_state, &job); /* the first is the master, or nobody */
    run_for(3);
    CU_ASSERT_PTR_NULL(link_at_master);
    CU_ASSERT_STRING_EQUAL(hosts[0].name.text, "127.0.0.1");
    tear_down();
}

/* The mismatch is reported, not passed over in silence. */
static void a_host_with_another_key_is_reported(void) {
    set_up(true, 2);
    role_state_return(&role_state, &job);
    run_for(60);
    CU_ASSERT_EQUAL(refused_once_count, 1);
    CU_ASSERT_EQUAL(find_master_why(&search)->code, EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_STRING_EQUAL(hosts[0].name.text, "127.0.0.3");
    tear_down();
}

/* The first host's machine reports that nothing listens there. Otherwise a host that was cut off
 * would leave before it can reach that master again, or any other one. */
static void assert_is_vain(size_t count, bool failover) {
    struct lag lag;
    set_up(failover, 1);
    job.cluster.count = count;
    role_state_note_end(&role_state, 0);
    role_state_return(&role_state, &job);
    int64_t begun = clock_now();
    lag_begin(&lag);
    run_for(60);
    ASSERT_WITHIN(&lag, 3 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(round_failed_count, 1);
    CU_ASSERT(round_failed_at - begun >= FIND_MASTER_UNREACHABLE_SECONDS * CLOCK_SECOND);
    CU_ASSERT(search.vain);
    tear_down();
}

/* With two hosts the second never leads. */
static void where_nobody_can_be_the_master_it_hears_so(void) {
    assert_is_vain(HOSTS, false);
    assert_is_vain(2, true);
    for (int failover = 0; failover < 2; failover++) {
        set_up(failover != 0, 1);
        listener_close(&master_listener);
        if (failover)
            role_state_note_end(&role_state, 0);
        else
            role_state_note_end(&role_state, ETIMEDOUT); /* it was silent */
        role_state_return(&role_state, &job);
        run_for(4);
        CU_ASSERT_EQUAL(round_failed_count, 0);
        CU_ASSERT_FALSE(search.vain);
        tear_down();
    }
}

UNIT_SUITE("host.find_master", UNIT(a_lost_host_finds_whoever_listens), UNIT(so_does_a_new_process),
           UNIT(one_that_is_not_taken_yet_asks_again), UNIT(others_ask_one_host_alone),
           UNIT(a_host_with_another_key_is_reported),
           UNIT(where_nobody_can_be_the_master_it_hears_so))
