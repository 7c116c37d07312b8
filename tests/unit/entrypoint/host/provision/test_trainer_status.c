/* What a server hears is in tests/system/test_trainer_status.sh. */
#include "entrypoint/host/provision/trainer_status.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <string.h>

static struct cluster_host hosts[2];
static struct job job;
static struct loop loop;
static struct reaper reaper;
static struct rank_set ranks;
static struct trainer_status status;

static void a_report_has_what_is_known(void) {
    struct progress_state state = {.marks = 3, .step = 46, .total = 216};
    cleanup_json json_t *body = trainer_status_body(&state, 104.9, 1764298800);
    cleanup_free char *text = json_dumps(body, JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(text, "{\"trainerStatus\":{\"progressPercentage\":21,"
                                 "\"estimatedRemainingSeconds\":104,\"metrics\":[{\"name\":"
                                 "\"step\",\"value\":\"46\"},{\"name\":\"total_steps\",\"value\":"
                                 "\"216\"}],\"lastUpdatedTime\":\"2025-11-28T03:00:00Z\"}}");
    state.total = 0;
    cleanup_json json_t *unknown = trainer_status_body(&state, -1, 0);
    cleanup_free char *less = json_dumps(unknown, JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(less, "{\"trainerStatus\":{\"metrics\":[{\"name\":\"step\",\"value\":"
                                 "\"46\"}],\"lastUpdatedTime\":\"1970-01-01T00:00:00Z\"}}");
    state.total = 40; /* the program has gone on for longer than it said */
    cleanup_json json_t *over = trainer_status_body(&state, 0, 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(over, "trainerStatus"),
                                                       "progressPercentage")),
                    100);
}

static bool is_open_with(char *const *environment, size_t self) {
    const struct services services = {
        .loop = &loop, .reaper = &reaper, .job = &job, .environment = environment};
    job = (struct job){.cluster = {.hosts = hosts, .count = 2, .self = self}};
    reaping_open(&loop, &reaper);
    trainer_status_open(&status, &services, &ranks);
    const bool open = status.services != NULL;
    CU_ASSERT_EQUAL(status.look.active, open);
    trainer_status_conclude(&status, 0); /* no rank has told a step */
    CU_ASSERT_FALSE(status.task.running);
    trainer_status_close(&status);
    trainer_status_close(&status);
    loop_done(&loop);
    return open;
}

static void the_first_host_reports_where_it_can(void) {
    static char url[] = "KUBEFLOW_TRAINER_SERVER_URL=https://server/status";
    static char plain[] = "KUBEFLOW_TRAINER_SERVER_URL=http://server/status";
    static char certificates[] = "KUBEFLOW_TRAINER_SERVER_CA_CERT=/ca";
    static char token[] = "KUBEFLOW_TRAINER_SERVER_TOKEN=/token";
    static char empty[] = "KUBEFLOW_TRAINER_SERVER_TOKEN=";
    CU_ASSERT_TRUE(is_open_with((char *[]){url, certificates, token, NULL}, 0));
    CU_ASSERT_FALSE(is_open_with((char *[]){url, certificates, token, NULL}, 1));
    CU_ASSERT_FALSE(is_open_with((char *[]){plain, certificates, token, NULL}, 0));
    CU_ASSERT_FALSE(is_open_with((char *[]){url, certificates, empty, NULL}, 0));
    CU_ASSERT_FALSE(is_open_with((char *[]){url, token, NULL}, 0));
    CU_ASSERT_FALSE(is_open_with((char *[]){certificates, token, NULL}, 0));
    struct trainer_status never = {0};
    trainer_status_conclude(&never, 0);
    trainer_status_close(&never);
}

UNIT_SUITE("host.trainer_status", UNIT(a_report_has_what_is_known),
           UNIT(the_first_host_reports_where_it_can))
