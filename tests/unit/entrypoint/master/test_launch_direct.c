#include "tests/unit/entrypoint/stage.h"

#include "entrypoint/master/launch_direct.h"
#include "entrypoint/master/launch_way.h"
#include "entrypoint/wire/message.h"

static struct stage_host host;

static const char *const two_ranks[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                        "RINGMASTER_LAUNCHER=direct", "RINGMASTER_RESTARTS=1",
                                        NULL};

static int run(const char *script) {
    const char *words[] = {"--", "sh", "-c", script, "sh", "a  b", "$(touch x)", NULL};
    stage_start(&host, "direct", two_ranks, words);
    return stage_end(&host);
}

static void a_rank_runs_on_every_slot(void) {
    CU_ASSERT_EQUAL(run("echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE: \"<$1>$2\""),
                    0);
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 0] 0 of 2, 0 of 2: <a  b>$(touch x)\n");
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 1] 1 of 2, 1 of 2: <a  b>$(touch x)\n");
    ASSERT_CONTAINS(stage_output(&host), "because RINGMASTER_LAUNCHER is direct");
}

/* The other ranks are told to end, as mpirun would end them. */
static void the_first_failure_ends_the_others(void) {
    CU_ASSERT_EQUAL(run("[ $RANK = 0 ] || exit 42; exec sleep 600"), 42);
    ASSERT_CONTAINS(stage_failure(&host), "127.0.0.1 rank 1: exited with 42");
}

static void a_rank_that_crashed_is_tried_again(void) {
    CU_ASSERT_EQUAL(run("[ $RINGMASTER_ATTEMPT = 2 ] && exit 0; "
                        "[ $RANK = 0 ] || kill -SEGV $$; exec sleep 600"),
                    0);
    ASSERT_CONTAINS(stage_output(&host), "127.0.0.1 rank 1: killed by signal 11 (SIGSEGV)");
    ASSERT_CONTAINS(stage_output(&host), "attempt 2 begins, with 2 ranks");
}

static void a_shim_that_is_killed_takes_its_rank_along(void) {
    CU_ASSERT_EQUAL(run("[ $RINGMASTER_ATTEMPT = 2 ] && exit 3; "
                        "[ $RANK = 0 ] || kill -KILL $PPID; exec sleep 600"),
                    3);
    ASSERT_CONTAINS(stage_output(&host), "127.0.0.1 rank 1: vanished without a report");
}

/* Only a user sends a shim a signal, which is therefore passed on to the program. */
static void a_signal_to_a_shim_is_the_programs(void) {
    CU_ASSERT_EQUAL(run("trap 'exit 9' TERM; [ $RANK = 0 ] || kill -TERM $PPID; "
                        "while :; do sleep 0.1; done"),
                    9);
    ASSERT_CONTAINS(stage_failure(&host), "127.0.0.1 rank 1: exited with 9");
}

static void a_rank_alone_that_vanishes_is_the_rank(void) {
    const char *words[] = {"--", "sh", "-c", "kill -KILL $PPID; sleep 60", NULL};
    stage_start(&host, "alone", NULL, words);
    CU_ASSERT_EQUAL(stage_end(&host), 137);
    ASSERT_CONTAINS(stage_failure(&host), "rank 0: vanished without a report");
}

/* A master of three hosts, of which the second is gone. Orders to itself are kept in a queue. */
static struct cluster_host hosts[3];
static struct job job;
static struct master m;
static struct member members[3];
static unsigned failures;
static unsigned orders;

static void count_failures(struct master *master, const struct raised *what) {
    (void)master;
    failures += what->event == EVENT_FAILURE;
}

static void take_order(void *context, const json_t *message) {
    (void)context;
    orders++;
    CU_ASSERT_EQUAL(message_kind(message), MESSAGE_RANKS);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "first")), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "size")), 5);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "attempt")), 1);
    loop_end(&m.s.loop);
}

static void set_up(void) {
    struct error err;
    failures = orders = 0;
    job = (struct job){.cluster = {.hosts = hosts, .count = 3}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count_failures};
    for (size_t i = 0; i < 3; i++) {
        hosts[i] = (struct cluster_host){.slots = (unsigned)i + 2, .gone = i == 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "algo-%zu", i + 1);
        members[i] = (struct member){.master = &m, .index = i};
    }
    hosts[2].slots = 3;
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(message_queue_init(&m.to_self, &m.s.loop, take_order, &m, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
}

static void take_down(void) {
    attempt_done(&m.attempt);
    message_queue_done(&m.to_self);
    loop_done(&m.s.loop);
}

static void hosts_that_are_left_are_ordered_to_start_their_ranks(void) {
    struct error err;
    set_up();
    CU_ASSERT_EQUAL(launch_direct.begin(&m, &err), 0);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL(orders, 1);
    launch_direct.signal(&m, SIGKILL); /* there is nothing to signal */
    launch_direct.close(&m);
    take_down();
}

static void unstarted(const char *text) {
    json_t *message = text != NULL ? json_pack("{s:s}", "text", text) : json_object();
    launch_direct_unstarted(&members[2], message);
    json_decref(message);
}

static void a_host_that_cannot_start_its_ranks_is_the_first_failure(void) {
    set_up();
    m.attempt.direct = true;
    unstarted("the shim of rank 3 ended with code 70 before its program began");
    CU_ASSERT_EQUAL(failures, 1);
    CU_ASSERT_EQUAL(m.attempt.tool.host, 2);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-3: the shim of rank 3 ended with code 70");
    unstarted("the shim of rank 4 ended with code 70 before its program began"); /* ignored */
    CU_ASSERT_EQUAL(failures, 1);
    ASSERT_CONTAINS(m.attempt.tool_note, "rank 3");
    take_down();
    set_up();
    unstarted(NULL);
    CU_ASSERT_EQUAL(failures, 1);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-3: a rank was not started");
    take_down();
    set_up();
    attempt_begin_end(&m.attempt); /* from here on it is a consequence */
    unstarted("x");
    CU_ASSERT_EQUAL(failures, 0);
    take_down();
}

STAGE_SUITE("master.launch_direct", UNIT(a_rank_runs_on_every_slot),
            UNIT(the_first_failure_ends_the_others), UNIT(a_rank_that_crashed_is_tried_again),
            UNIT(a_shim_that_is_killed_takes_its_rank_along),
            UNIT(a_signal_to_a_shim_is_the_programs), UNIT(a_rank_alone_that_vanishes_is_the_rank),
            UNIT(hosts_that_are_left_are_ordered_to_start_their_ranks),
            UNIT(a_host_that_cannot_start_its_ranks_is_the_first_failure))
