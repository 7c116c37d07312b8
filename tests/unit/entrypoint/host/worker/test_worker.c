#include "entrypoint/host/worker/worker.h"

#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/listener.h"
#include "tests/support/lag.h"
#include "tests/unit/entrypoint/stage.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3";

static void start_worker(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", ready, NULL};
    stage_start(&worker, "worker", settings, words);
}

static void without_a_master_it_leaves_at_the_deadline(void) {
    start_worker("RINGMASTER_READY_SECONDS=1");
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 was not there within 1 s");
}

/* With failover other hosts may be the master and are dialled, too; the failure names the first
 * host. */
static void it_is_the_first_host_that_was_not_there(void) {
    const char *const settings[] = {hosts,
                                    "RINGMASTER_HOST=127.0.0.3",
                                    "RINGMASTER_READY_SECONDS=4",
                                    "RINGMASTER_FAILOVER=1",
                                    "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1",
                                    NULL};
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 was not there within 4 s");
}

static void stopped_while_it_waits_it_leaves_with_143(void) {
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "waiting for 127.0.0.1"));
    (void)kill(worker.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_STOPPED);
}

/* --- a master by hand ------------------------------------------------------------------------- */

static struct loop loop;
static const int *answers;   /* refusals' codes to one join after the other, 0 at the end */
static const char *greeting; /* before the first one; or NULL */
static size_t joins;
static bool knows; /* the last one told of the job so far */
static bool asks;  /* and asked to be taken back */

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "join");
    knows = json_object_get(message, "succession") != NULL;
    asks = json_is_true(json_object_get(message, "back"));
    if (greeting != NULL && joins == 0)
        link_send(link, frame_with(greeting, json_pack("{s:s}", "run", "0123456789abcdef")));
    link_part(link, frame_with("refuse", json_pack("{s:i, s:s}", "code", answers[joins], "text",
                                                   "not here")));
    joins++;
    if (answers[joins] == 0)
        loop_end(&loop);
}

static void give_up(void *context) {
    (void)context;
    loop_end(&loop);
}

/* At ADDRESS, until all answers have been given. */
static void master_by_hand(const char *address, const int *codes) {
    static const struct listener_events events = {.arrived = arrived};
    struct timer timer = {.fire = give_up};
    struct listener acceptor;
    struct net_address at;
    SSL_CTX *tls = stage_tls(3, 1);
    (void)signal(SIGPIPE, SIG_IGN);
    answers = codes;
    joins = 0;
    CU_ASSERT(net_address_parse(address, &at));
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    int listener = listener_listen(&at, ports_own(), LISTENER_CONTROL, NULL);
    CU_ASSERT_FATAL(listener >= 0);
    CU_ASSERT_EQUAL_FATAL(listener_open(&acceptor, &loop, listener, tls, &events, NULL, NULL), 0);
    loop_after(&loop, &timer, 60 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    loop_cancel(&loop, &timer);
    listener_close(&acceptor);
    loop_done(&loop);
    tls_context_free(tls);
}

static const char *const may_be_lost[] = {hosts,
                                          "RINGMASTER_HOST=127.0.0.2",
                                          "RINGMASTER_FAILOVER=1",
                                          "RINGMASTER_SHRINK=1",
                                          "RINGMASTER_RESTARTS=1",
                                          NULL};

static void assert_is_sent_on_after(const char *first_word) {
    static const int codes[] = {EXIT_CODE_NOT_READY, EXIT_CODE_HOST_LOST, 0};
    greeting = first_word;
    stage_start(&worker, "sent", may_be_lost, words);
    master_by_hand("127.0.0.1", codes);
    greeting = NULL;
    CU_ASSERT_EQUAL(joins, 2);
    CU_ASSERT_FALSE(knows || asks);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_HOST_LOST);
    ASSERT_CONTAINS(stage_output(&worker), "127.0.0.1 cannot admit this host yet: not here");
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 refused this host: not here");
}

/* As long as no job has begun: the first host has found out that the old one goes on. */
static void sent_on_after_a_welcome_it_asks_the_others(void) {
    assert_is_sent_on_after("welcome");
}

/* The same holds while it waits for an attempt: that host leads the job no more. */
static void sent_on_while_it_waits_it_asks_the_others(void) {
    assert_is_sent_on_after("standby");
}

enum { MASTER_AGAIN = 42 };
static bool briefly; /* it asks for two seconds alone, and meets nobody */

/* The life of a first host that was started anew and has heard that the third one leads the job. */
static int ask_anew(struct supervisor_options *options, int *ret_code, struct error *err) {
    struct role_state role_state;
    struct job job = *options->job;
    if (role_state_open(&role_state, &job, err) != 0)
        return -1;
    role_state.anew = true;
    role_state.turn = 2;
    if (briefly)
        job.settings.dead_seconds = (2 - ROLE_STATE_SEARCH_SECONDS) / 2;
    role_state_return(&role_state, &job);
    role_state.client = stage_tls(3, 0);
    options->role_state = &role_state;
    options->job = &job;
    int result = worker_run(options, ret_code, err);
    if (role_state.over && role_state.anew && !role_state.back)
        *ret_code = MASTER_AGAIN;
    options->role_state = NULL;
    role_state_close(&role_state);
    return result;
}

static void start_anew(void) {
    const char *const settings[] = {hosts,
                                    "RINGMASTER_HOST=127.0.0.1",
                                    "RINGMASTER_FAILOVER=1",
                                    "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1",
                                    NULL};
    stage_life = ask_anew;
    stage_start(&worker, "anew", settings, words);
    stage_life = NULL;
}

/* It tells nothing of the job, of which it knows nothing. */
static void a_first_host_that_is_started_anew_asks_who_leads(void) {
    static const int codes[] = {EXIT_CODE_HOST_LOST, 0};
    start_anew();
    master_by_hand("127.0.0.3", codes);
    CU_ASSERT_EQUAL(joins, 1);
    CU_ASSERT(asks && !knows);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_HOST_LOST);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.3 refused this host: not here");
}

static void where_nobody_leads_any_more_it_is_the_master_again(void) {
    briefly = true;
    start_anew();
    briefly = false;
    CU_ASSERT_EQUAL(stage_end(&worker), MASTER_AGAIN);
    ASSERT_CONTAINS(stage_output(&worker), "no host leads the job any more");
}

static bool stopping;
static bool back;

/* The life after one that lost its master: it dials the next host at its last address or, if it
 * asks to be taken back, the first host. */
static int follow(struct supervisor_options *options, int *ret_code, struct error *err) {
    struct role_state role_state;
    struct job job = *options->job;
    if (role_state_open(&role_state, &job, err) != 0)
        return -1;
    role_state.again = true;
    role_state.stopping = stopping;
    role_state.back = role_state.closed = back;
    options->role_state = &role_state;
    options->job = &job;
    int result = net_address_parse("127.0.0.1", &job.cluster.hosts[0].address)
                     ? worker_run(options, ret_code, err)
                     : -1;
    options->role_state = NULL;
    role_state_close(&role_state);
    return result;
}

/* A stop between two lives is one of the next: it tries for five seconds to tell the new master. */
static void stopped_between_two_lives_it_leaves_after_five_seconds(void) {
    struct lag lag;
    int64_t begun = clock_now();
    stopping = true;
    stage_life = follow;
    stage_start(&worker, "between", may_be_lost, words);
    stage_life = NULL;
    lag_begin(&lag);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_STOPPED);
    ASSERT_WITHIN(&lag, 7 * CLOCK_SECOND); /* all out two seconds later */
    CU_ASSERT(clock_now() - begun >= 5 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&worker), "stopped before the job began");
}

/* The first host's machine says that nobody listens there any more, where no other host leads. */
static void where_nobody_is_the_master_it_leaves_after_two_seconds(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1", NULL};
    struct lag lag;
    int64_t begun = clock_now();
    stopping = false;
    back = true;
    stage_life = follow;
    stage_start(&worker, "vain", settings, words);
    stage_life = NULL;
    lag_begin(&lag);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_HOST_LOST);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND); /* asked each second, and all out two seconds later */
    CU_ASSERT(clock_now() - begun >= 2 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&worker), "nothing listens at its address any more");
}

/* Its stop reaches the master, which would wait for it in vain. */
static void stopped_before_it_could_join_it_tells_the_master(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "waiting for 127.0.0.1"));
    (void)kill(worker.pid, SIGSTOP); /* it tries for five seconds, and the master may take longer */
    stage_start(&master, "told", settings, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    (void)kill(worker.pid, SIGTERM);
    (void)kill(worker.pid, SIGCONT);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2");
}

static void a_master_that_dies_is_a_lost_host(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&master, "master", settings, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "joined"));
    struct lag lag;
    lag_begin(&lag);
    (void)kill(master.pid, SIGKILL);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_HOST_LOST);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1");
    ASSERT_CONTAINS(stage_failure(&worker), "the master is lost");
    CU_ASSERT_EQUAL(stage_end(&master), 137);
}

STAGE_SUITE("host.worker", UNIT(without_a_master_it_leaves_at_the_deadline),
            UNIT(it_is_the_first_host_that_was_not_there),
            UNIT(stopped_while_it_waits_it_leaves_with_143),
            UNIT(stopped_between_two_lives_it_leaves_after_five_seconds),
            UNIT(sent_on_after_a_welcome_it_asks_the_others),
            UNIT(sent_on_while_it_waits_it_asks_the_others),
            UNIT(a_first_host_that_is_started_anew_asks_who_leads),
            UNIT(where_nobody_leads_any_more_it_is_the_master_again),
            UNIT(where_nobody_is_the_master_it_leaves_after_two_seconds),
            UNIT(stopped_before_it_could_join_it_tells_the_master),
            UNIT(a_master_that_dies_is_a_lost_host))
