#include "entrypoint/host/rank_launch.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/message.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <string.h>

/* This host is the second of three, with two slots each. */
static struct cluster_host hosts[3];
static struct job job;
static struct loop loop;
static struct reaper reaper;
static struct rank_set rank_set;
static struct services services;
static struct rank_launch launch;
static char text[512];
static unsigned told;

static void say(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

static void hear(void *context, json_t *message) {
    (void)context;
    CU_ASSERT_EQUAL(message_kind(message), MESSAGE_UNSTARTED);
    (void)snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(message, "text")));
    json_decref(message);
    if (++told == 2)
        loop_end(&loop);
}

static void set_up(void) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char *environment[] = {path, NULL};
    for (size_t i = 0; i < 3; i++)
        hosts[i] = (struct cluster_host){.name = {"algo-2"}, .slots = 2};
    job = (struct job){.cluster = {.hosts = hosts, .count = 3, .self = 1},
                       .launcher = {.kind = LAUNCHER_DIRECT}};
    told = 0;
    text[0] = '\0';
    reaping_open(&loop, &reaper);
    rank_set = (struct rank_set){.attempt = 3};
    static struct control_socket local = {.socket = "/no/such/socket"};
    services = (struct services){
        .loop = &loop, .reaper = &reaper, .job = &job, .environment = environment, .local = &local};
    launch = (struct rank_launch){.services = &services,
                                  .run = "0123456789abcdef",
                                  .rank_set = &rank_set,
                                  .line = say,
                                  .send = hear};
}

static void take_down(void) {
    rank_launch_end(&launch);
    loop_done(&loop);
}

static void order(json_int_t first, json_int_t size) {
    json_t *message =
        message_with(MESSAGE_RANKS, json_pack("{s:I, s:I}", "first", first, "size", size));
    rank_launch_start(&launch, message);
    json_decref(message);
}

static void a_shim_that_ends_early_is_reported(void) {
    set_up();
    order(2, 6);
    CU_ASSERT_EQUAL(told, 0);
    CU_ASSERT(rank_set.direct);
    CU_ASSERT_EQUAL(launch.shims.count, 2);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_EQUAL(told, 2);
    ASSERT_CONTAINS(text, "the shim of rank ");
    ASSERT_CONTAINS(text, " ended with code 70 before its program began");
    take_down();
    CU_ASSERT_FALSE(rank_set.direct);
}

/* The report of the shim's rank tells the master how it ended. */
static void a_shim_that_had_registered_is_not(void) {
    struct rank_slot slots[2] = {{.rank = 2}, {.rank = 3}};
    struct timer patience = {.fire = (void (*)(void *))loop_end, .context = &loop};
    set_up();
    order(2, 6);
    slots[0].next = &slots[1];
    rank_set.slots = slots;
    while (launch.shims.items[0].task.running || launch.shims.items[1].task.running) {
        loop_after(&loop, &patience, CLOCK_SECOND / 50);
        CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    }
    CU_ASSERT_EQUAL(told, 0);
    rank_set.slots = NULL;
    take_down();
}

static void expect_refusal(json_int_t first, json_int_t size, const char *why) {
    told = 0;
    order(first, size);
    CU_ASSERT_EQUAL(told, 1);
    ASSERT_CONTAINS(text, why);
    CU_ASSERT_PTR_NULL(launch.shims.items);
}

static void an_order_that_counts_otherwise_is_refused(void) {
    set_up();
    expect_refusal(0, 6,
                   "the master's order begins with rank 0 of 6, this host's ranks with 2 of 6");
    expect_refusal(2, 7, "2 of 7");
    hosts[0].gone = true;
    expect_refusal(2, 6, "this host's ranks with 0 of 4");
    told = 0;
    json_t *message = message_new(MESSAGE_RANKS);
    rank_launch_start(&launch, message);
    json_decref(message);
    CU_ASSERT_EQUAL(told, 1);
    take_down();
}

static void a_host_that_expects_mpirun_says_so(void) {
    set_up();
    job.launcher.kind = LAUNCHER_MPIRUN;
    expect_refusal(2, 6, "set RINGMASTER_LAUNCHER equally on all hosts");
    take_down();
}

static void ranks_are_started_once(void) {
    struct rank_slot slot = {.rank = 2};
    set_up();
    rank_set.slots = &slot;
    expect_refusal(2, 6, "have been started");
    rank_set.slots = NULL;
    take_down();
}

UNIT_SUITE("host.rank_launch", UNIT(a_shim_that_ends_early_is_reported),
           UNIT(a_shim_that_had_registered_is_not), UNIT(an_order_that_counts_otherwise_is_refused),
           UNIT(a_host_that_expects_mpirun_says_so), UNIT(ranks_are_started_once))
