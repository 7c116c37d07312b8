#include "common/json/json.h"
#include "entrypoint/command/plan.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* The plan is printed for people and pasted into tickets, so each plan that any case makes is
 * searched for two secrets: the job's key, and a token that stands in the command line, in the
 * environment and in an address (plan_of). A job is built by hand here; how it is read from
 * settings is tested in tests/unit/entrypoint/job. */

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 2},
                                      {.name = {"algo-2"}, .slots = 2}};
/* The interface that a probe would have found, and that the job's traffic would take. */
static const struct interface interface = {.name = "eth0", .prefix = 16};

/* The second host of two, on SageMaker, with a secret as a flag's next word and as a flag's own
 * value. The caller frees the words. */
static struct job sample(void) {
    struct job job = {
        .settings = {.base_dir = "/opt/ml", .key = "0123456789abcdef", .port = 7070},
        .cluster = {
            .source = CLUSTER_SAGEMAKER, .hosts = hosts, .count = 2, .self = 1, .job = "job-1"}};
    static const char *const words[] = {"/bin/prog",   "--lr",        "0.1",
                                        "--api-token", "tell-nobody", "--password=tell-nobody",
                                        "--data",      "/x",          NULL};
    CU_ASSERT_EQUAL(ports_plan(7070, 2, &job.ports, NULL), 0);
    CU_ASSERT_EQUAL(argv_add_all(&job.program.argv, words, NULL), 0);
    return job;
}

/* The plan for JOB in an environment with a secret, the key, and a variable that the user has set
 * against ringmaster's choice. REQUEST may be NULL. */
static json_t *plan_of(const struct job *job, const struct openmpi_request *request) {
    static char token[] = "MY_TOKEN=tell-nobody", key[] = "RINGMASTER_KEY=0123456789abcdef",
                gloo[] = "GLOO_SOCKET_IFNAME=lo";
    char *environment[] = {token, key, gloo, NULL};
    cleanup_buf struct buf text;
    buf_init(&text, 65536);
    json_t *root = NULL;
    CU_ASSERT_EQUAL(plan_print(job, request, environment, &text, NULL), 0);
    /* For every plan of this file. */
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "tell-nobody"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "0123456789abcdef"));
    CU_ASSERT_EQUAL(json_parse(buf_text(&text), text.size, "plan", &root, NULL), 0);
    return root;
}

/* Returns true if LIST, an array of texts, has TEXT as a whole. */
static bool holds(const json_t *list, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return true;
    return false;
}

/* Checks a row of "network": the value that libraries will see, and the side that chose it. A
 * missing row ends the case. */
static void is_told(const json_t *plan, const char *variable, const char *value, const char *by) {
    const json_t *told = json_object_get(json_object_get(plan, "network"), variable);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(told, "value")), value);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(told, "by")), by);
}

/* A flag that is secret stays visible and its value does not. The user's value for Gloo wins over
 * ringmaster's. Of the environment only names are listed, and of the key not even that. The plan is
 * made on a worker, which shows the master's mpirun, too. */
static void the_plan_says_what_would_run_and_no_secret(void) {
    struct job job = sample();
    struct openmpi_request request = {
        .version = {OPENMPI_4_1, 4, 1, 4},
        .cluster = &job.cluster,
        .interface = &interface,
        .ports = &job.ports,
        .agent = "/run/r/agent",
        .mpirun = "/usr/bin/mpirun",
        .hostfile = "/run/r/hosts",
        .ringmaster = "/usr/bin/ringmaster",
    };
    cleanup_json json_t *plan = plan_of(&job, &request);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(plan, "host")), "algo-2");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(plan, "role")), "worker");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(plan, "openmpi")), "4.1.4");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(plan, "ranks")), 4);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(plan, "hosts")), 2);
    CU_ASSERT(holds(json_object_get(plan, "program"), "--api-token"));
    CU_ASSERT(holds(json_object_get(plan, "program"), "***"));
    CU_ASSERT(holds(json_object_get(plan, "program"), "--password=***"));
    CU_ASSERT(holds(json_object_get(plan, "program"), "/x"));
    CU_ASSERT(holds(json_object_get(plan, "mpirun"), "/usr/bin/mpirun"));
    /* NCCL takes "=" before a name for an exact match. */
    char nccl[32];
    (void)snprintf(nccl, sizeof(nccl), "=%s", interface.name);
    is_told(plan, "NCCL_SOCKET_IFNAME", nccl, "ringmaster");
    is_told(plan, "GLOO_SOCKET_IFNAME", "lo", "the job");
    CU_ASSERT(holds(json_object_get(plan, "environment"), "MY_TOKEN"));
    CU_ASSERT(holds(json_object_get(plan, "environment"), "SM_CURRENT_HOST"));
    CU_ASSERT_FALSE(holds(json_object_get(plan, "environment"), "RINGMASTER_KEY"));
    argv_done(&job.program.argv);
}

/* As on a laptop: the members are there, and null. The ports need no network and are planned all
 * the same. */
static void without_mpirun_the_rest_is_still_reported(void) {
    struct job job = sample();
    cleanup_json json_t *plan = plan_of(&job, NULL);
    CU_ASSERT(json_is_null(json_object_get(plan, "mpirun")));
    CU_ASSERT(json_is_null(json_object_get(plan, "interface")));
    CU_ASSERT(json_is_null(json_object_get(plan, "network")));
    CU_ASSERT_PTR_NOT_NULL(json_object_get(plan, "ports"));
    argv_done(&job.program.argv);
}

static const char *why(const json_t *plan, const char *what);

/* Ranks without mpirun have an interface, but no mpirun and no version of Open MPI. The reason is
 * the launcher's own text. */
static void the_launcher_is_reported_with_its_reason(void) {
    struct job job = sample();
    struct openmpi_request request = {
        .cluster = &job.cluster, .interface = &interface, .ports = &job.ports};
    job.launcher = (struct launcher){LAUNCHER_DIRECT, "no mpirun is in PATH"};
    cleanup_json json_t *plan = plan_of(&job, &request);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(plan, "launcher")), "direct");
    CU_ASSERT_STRING_EQUAL(why(plan, "launcher"), "no mpirun is in PATH");
    CU_ASSERT(json_is_null(json_object_get(plan, "mpirun")));
    CU_ASSERT(json_is_object(json_object_get(plan, "interface")));
    argv_done(&job.program.argv);
}

/* The reason WHAT of "why"; "(null)" where the plan has null for it, so that a comparison fails
 * with a readable text. */
static const char *why(const json_t *plan, const char *what) {
    const char *text = json_string_value(json_object_get(json_object_get(plan, "why"), what));
    return text != NULL ? text : "(null)";
}

/* Four reasons for an interface and two for a master. The first host is the master here, so that
 * the order of hosts is what decides. Without a request there is no interface, and so no reason for
 * one. */
static void the_plan_says_why(void) {
    struct job job = sample();
    struct openmpi_request request = {.version = {OPENMPI_4_1, 4, 1, 4},
                                      .cluster = &job.cluster,
                                      .interface = &interface,
                                      .ports = &job.ports,
                                      .agent = "/a",
                                      .mpirun = "/m",
                                      .hostfile = "/h",
                                      .ringmaster = "/r"};
    /* What the user has configured, the number of hosts, and the reason that follows. */
    static const struct {
        const char *configured;
        size_t count;
        const char *says;
    } cases[] = {{"eth0", 2, "as configured"},
                 {"ib0", 2, "the configured one is not here"},
                 {"", 2, "the one that leads to the other hosts"},
                 {"", 1, "a host alone"}};
    /* The source of the list of hosts, which the plan repeats. */
    (void)snprintf(job.cluster.described_by, sizeof(job.cluster.described_by), "A_LIST");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(job.cluster.interface, sizeof(job.cluster.interface), "%s",
                       cases[i].configured);
        job.cluster.count = cases[i].count;
        job.cluster.self = 0;
        cleanup_json json_t *plan = plan_of(&job, &request);
        ASSERT_CONTAINS(why(plan, "interface"), cases[i].says);
        CU_ASSERT_STRING_EQUAL(why(plan, "hosts"), "A_LIST");
        ASSERT_CONTAINS(why(plan, "master"),
                        cases[i].count == 1 ? "this host is alone" : "natural order");
    }
    /* A platform that names the master decides, whatever the order. */
    job.cluster.count = 2;
    job.cluster.master_named = true;
    cleanup_json json_t *plan = plan_of(&job, NULL);
    ASSERT_CONTAINS(why(plan, "master"), "the platform names it");
    CU_ASSERT_STRING_EQUAL(why(plan, "interface"), "(null)");
    argv_done(&job.program.argv);
}

/* A signed address holds its secret after the question mark; an address of S3 has none. Code and
 * channels are listed in the order in which they are fetched. */
static void what_is_fetched_is_reported_without_its_secrets(void) {
    struct job job = sample();
    job.sources = (struct download_sources){
        .code = "s3://b/s.tar.gz",
        .channels = {{.name = "train", .address = "https://h/x?X-Amz-Signature=tell-nobody"}},
        .count = 1};
    cleanup_json json_t *plan = plan_of(&job, NULL);
    /* The whole list, so that no other member can hold the secret. */
    cleanup_json json_t *expected =
        json_loads("[{\"what\": \"code\", \"from\": \"s3://b/s.tar.gz\"}, {\"what\": \"train\", "
                   "\"from\": \"https://h/x\"}]",
                   0, NULL);
    CU_ASSERT_PTR_NOT_NULL(expected);
    CU_ASSERT_EQUAL(json_equal(json_object_get(plan, "fetched"), expected), 1);
    argv_done(&job.program.argv);
}

UNIT_SUITE("entrypoint.plan", UNIT(the_plan_says_what_would_run_and_no_secret),
           UNIT(without_mpirun_the_rest_is_still_reported),
           UNIT(the_launcher_is_reported_with_its_reason), UNIT(the_plan_says_why),
           UNIT(what_is_fetched_is_reported_without_its_secrets))
