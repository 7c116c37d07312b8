#include "entrypoint/host/gatherer.h"

#include "common/clock.h"
#include "entrypoint/wire/message.h"
#include "tests/support/reaping.h"
#include "tests/unit/entrypoint/stage.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct cluster_host hosts[1];
static struct job job;
static struct loop loop;
static struct reaper reaper;
static struct rank_set rank_set;
static struct services services;
static struct gatherer gatherer;
static json_t *told;

static void hear(void *context, json_t *message) {
    (void)context;
    json_decref(told);
    told = message;
    loop_end(&loop);
}

static void set_up(const char *base) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char *environment[] = {path, NULL};
    hosts[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    job = (struct job){.settings = {.base_dir = base, .evidence = true},
                       .cluster = {.hosts = hosts, .count = 1}};
    reaping_open(&loop, &reaper);
    rank_set = (struct rank_set){.attempt = 2};
    services = (struct services){
        .loop = &loop, .reaper = &reaper, .job = &job, .environment = environment};
    gatherer = (struct gatherer){.services = &services, .rank_set = &rank_set, .send = hear};
}

static void take_down(void) {
    gatherer_end(&gatherer);
    loop_done(&loop);
    json_decref(told);
    told = NULL;
}

static json_int_t number(const char *key) {
    return json_integer_value(json_object_get(told, key));
}

static void order(int which) {
    json_t *message = message_with(MESSAGE_GATHER, json_pack("{s:i}", "number", which));
    gatherer_start(&gatherer, message);
    json_decref(message);
}

/* The child is this test program in another role. */
static void what_a_child_gathers_is_reported(void) {
    char path[PATH_MAX];
    set_up(unit_temp_dir());
    order(7);
    order(8); /* while it runs: one answer for both */
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_EQUAL(message_kind(told), MESSAGE_GATHERED);
    CU_ASSERT_EQUAL(number("number"), 8);
    CU_ASSERT_EQUAL(number("files"), 1);
    CU_ASSERT_PTR_NULL(json_object_get(told, "fault"));
    (void)snprintf(path, sizeof(path), "%s/output/data/evidence-2/algo-1-state.txt",
                   job.settings.base_dir);
    CU_ASSERT_EQUAL(access(path, R_OK), 0);
    take_down();
}

static void a_child_that_fails_is_reported(void) {
    set_up("/proc"); /* where no folder can be made */
    order(9);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_EQUAL(number("number"), 9);
    ASSERT_CONTAINS(json_string_value(json_object_get(told, "fault")), "/proc");
    take_down();
}

static void an_end_is_silent(void) {
    set_up(unit_temp_dir());
    order(9);
    CU_ASSERT_TRUE(gatherer.task.running);
    gatherer_end(&gatherer);
    CU_ASSERT_FALSE(gatherer.task.running);
    CU_ASSERT_PTR_NULL(told);
    gatherer_end(&gatherer);
    struct gatherer never = {0};
    gatherer_end(&never);
    take_down();
}

STAGE_SUITE("host.gatherer", UNIT(what_a_child_gathers_is_reported),
            UNIT(a_child_that_fails_is_reported), UNIT(an_end_is_silent))
