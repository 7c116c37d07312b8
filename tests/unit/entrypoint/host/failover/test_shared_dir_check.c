#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/failover/shared_dir_check.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cluster_host hosts[3];
static struct job job;
static struct loop loop;
static struct reaper reaper;
static char run[] = "00ff";
static const struct services services = {.loop = &loop, .reaper = &reaper, .job = &job};
static struct shared_dir_check proof;
static char base[400];
static unsigned proved_count;

static void hear(void *context, json_t *message) {
    (void)context;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "dir_probed");
    CU_ASSERT_PTR_NULL(json_object_get(message, "fault"));
    proved_count++;
    json_decref(message);
    loop_end(&loop);
}

static void look(void *context);
static struct timer again = {.fire = look};
static int64_t until;
static const char *awaited; /* a file, until it is gone */

static bool is_there(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/checkpoints/%s", base, name);
    return access(path, F_OK) == 0;
}

static void look(void *context) {
    (void)context;
    if (!is_there(awaited) || clock_now() > until)
        loop_end(&loop);
    else
        loop_after(&loop, &again, 10 * CLOCK_MILLISECOND);
}

static bool goes(const char *name) {
    awaited = name;
    until = clock_now() + 60 * CLOCK_SECOND;
    loop_after(&loop, &again, 0);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    return !is_there(name);
}

/* The second of three hosts. */
static void set_up(void) {
    static unsigned count;
    char path[512];
    (void)snprintf(base, sizeof(base), "%s/%u", unit_temp_dir(), count++);
    (void)snprintf(path, sizeof(path), "%s/checkpoints", base);
    CU_ASSERT_EQUAL_FATAL(mkdir(base, 0755) | mkdir(path, 0755), 0);
    job = (struct job){.settings = {.base_dir = base},
                       .cluster = {.hosts = hosts, .count = 3, .self = 1}};
    proof = (struct shared_dir_check){.services = &services, .run = run, .send = hear};
    proved_count = 0;
    reaping_open(&loop, &reaper);
}

static void tear_down(void) {
    shared_dir_check_close(&proof);
    loop_done(&loop);
}

static void order(enum shared_dir_probe_step step, int of, const char *word) {
    cleanup_json json_t *message = frame_new("probe_dir");
    (void)json_object_set_new(message, "step", json_integer(step));
    (void)json_object_set_new(message, "of", json_integer(of));
    (void)json_object_set_new(message, "word", json_string(word));
    shared_dir_check_step(&proof, message);
}

static void it_writes_a_word_and_takes_it_away(void) {
    set_up();
    order(SHARED_DIR_PROBE_WRITE, 1, "");
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_EQUAL(proved_count, 1);
    CU_ASSERT(is_there(".ringmaster-00ff-1"));
    order(SHARED_DIR_PROBE_REMOVE, 1, "");
    CU_ASSERT(goes(".ringmaster-00ff-1"));
    CU_ASSERT_FALSE(shared_dir_check_end(&proof)); /* once */
    tear_down();
}

/* The master is lost before it has said so. */
static void nothing_stays_where_nobody_orders_it(void) {
    set_up();
    CU_ASSERT_FALSE(shared_dir_check_end(&proof));
    order(SHARED_DIR_PROBE_WRITE, 1, "");
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    order(SHARED_DIR_PROBE_READ, 1, proof.word);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    CU_ASSERT_EQUAL(proved_count, 2);
    CU_ASSERT(shared_dir_check_end(&proof));
    CU_ASSERT(goes(".ringmaster-00ff-1"));
    tear_down();
}

static void what_is_no_step_is_left_alone(void) {
    set_up();
    order(SHARED_DIR_PROBE_REMOVE + 1, 1, "");
    order(SHARED_DIR_PROBE_WRITE, -1, "");
    cleanup_json json_t *message = frame_new("probe_dir");
    shared_dir_check_step(&proof, message);
    CU_ASSERT_EQUAL(proof.probe.child.pid, 0);
    CU_ASSERT_STRING_EQUAL(proof.word, "");
    tear_down();
}

UNIT_SUITE("host.shared_dir_check", UNIT(it_writes_a_word_and_takes_it_away),
           UNIT(nothing_stays_where_nobody_orders_it), UNIT(what_is_no_step_is_left_alone))
