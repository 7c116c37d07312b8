#include "common/json/json.h"
#include "entrypoint/host/provision/input_download.h"
#include "entrypoint/job/key.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A12 "a5a5a5a5a5a5a5a5a5a5a5a5"
#define KEY A12 A12 A12 A12

static char region[] = "AWS_REGION=eu-west-1";
static char secret[] = "AWS_SECRET_ACCESS_KEY=hush-hush";
static char endpoint[] = "S3_ENDPOINT_URL=http://x";
static char other[] = "HOME=/root";
static char *environment[] = {region, other, secret, endpoint, NULL};

static void fill(struct job *j) {
    static struct cluster_host hosts[3];
    *j = (struct job){.settings = {.base_dir = "/opt/ml", .fetch_seconds = 60},
                      .cluster = {.hosts = hosts, .count = 3, .self = 1},
                      .sources = {.code = "s3://b/s.tar.gz", .count = 2}};
    j->sources.channels[0] =
        (struct download_source){.name = "train", .address = "s3://b/train", .sharded = true};
    j->sources.channels[1] =
        (struct download_source){.name = "val", .address = "https://h/x?secret"};
}

static void an_order_has_all_that_is_needed_and_no_more(void) {
    struct job j;
    fill(&j);
    cleanup_json json_t *order = input_download_order(&j, environment);
    cleanup_json json_t *expected = json_loads(
        "{\"seconds\": 60, \"environment\": [\"AWS_REGION=eu-west-1\", "
        "\"AWS_SECRET_ACCESS_KEY=hush-hush\", \"S3_ENDPOINT_URL=http://x\"], \"tasks\": ["
        "{\"what\": \"code\", \"from\": \"s3://b/s.tar.gz\", \"to\": \"/opt/ml/code\", "
        "\"unpack\": true, \"pass\": true}, {\"what\": \"train\", \"from\": \"s3://b/train\", "
        "\"to\": "
        "\"/opt/ml/input/data/train\", \"shard\": 1, \"shards\": 3, \"pass\": false}, {\"what\": "
        "\"val\", "
        "\"from\": \"https://h/x?secret\", \"to\": \"/opt/ml/input/data/val\", \"shard\": 0, "
        "\"shards\": 1, \"pass\": true}]}",
        0, NULL);
    CU_ASSERT_PTR_NOT_NULL(expected);
    CU_ASSERT_EQUAL(json_equal(order, expected), 1);
}

static void targets_are_tried_and_checkpoints_come_back(void) {
    struct job j;
    fill(&j);
    static char *none[] = {NULL};
    j.sources = (struct download_sources){0};
    j.settings.checkpoints = "s3://b/c";
    j.settings.output = "s3://b/o/";
    (void)snprintf(j.cluster.hosts[1].name.text, HOST_NAME_SIZE, "algo-2");
    cleanup_json json_t *order = input_download_order(&j, none);
    cleanup_json json_t *expected =
        json_loads("{\"seconds\": 60, \"environment\": [], \"tasks\": ["
                   "{\"what\": \"output\", \"to\": \"s3://b/o/output/algo-2/\", \"target\": true, "
                   "\"tidy\": true}, {\"what\": \"checkpoints\", \"from\": \"s3://b/c/\", \"to\": "
                   "\"/opt/ml/checkpoints\", \"back\": true, \"tidy\": false, \"pass\": true}]}",
                   0, NULL);
    CU_ASSERT_EQUAL(json_equal(order, expected), 1);
    j.cluster.self = 0;
    cleanup_json json_t *first = input_download_order(&j, none);
    const json_t *tasks = json_object_get(first, "tasks");
    CU_ASSERT_EQUAL(json_array_size(tasks), 3);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(tasks, 1), "to")),
                           "s3://b/o/model/");
    CU_ASSERT_TRUE(json_is_true(json_object_get(json_array_get(tasks, 1), "tidy")));
    CU_ASSERT_TRUE(json_is_true(json_object_get(json_array_get(tasks, 2), "tidy")));
    /* Started anew it would give up what another host uploads, which leads the job by now. */
    j.settings.failover = true;
    cleanup_json json_t *lost = input_download_order(&j, none);
    tasks = json_object_get(lost, "tasks");
    CU_ASSERT_TRUE(json_is_true(json_object_get(json_array_get(tasks, 0), "tidy")));
    CU_ASSERT_TRUE(json_is_false(json_object_get(json_array_get(tasks, 1), "tidy")));
    CU_ASSERT_TRUE(json_is_false(json_object_get(json_array_get(tasks, 2), "tidy")));
}

/* Two hosts that are a job each: both are first, and nothing of theirs is in one place. */
static void jobs_of_one_platform_have_targets_of_their_own(void) {
    static const enum input_download_target all[] = {INPUT_DOWNLOAD_CHECKPOINTS,
                                                     INPUT_DOWNLOAD_MODEL, INPUT_DOWNLOAD_OUTPUT,
                                                     INPUT_DOWNLOAD_DATA};
    static const char *const expected[] = {"s3://b/c/algo-2/", "file:///o/algo-2/model/",
                                           "file:///o/algo-2/output/algo-2/",
                                           "file:///o/algo-2/output/algo-2/data/"};
    struct job j;
    fill(&j);
    j.settings.checkpoints = "s3://b/c";
    j.settings.output = "file:///o/";
    j.cluster.count = 1;
    j.cluster.self = 0;
    (void)snprintf(j.cluster.hosts[0].name.text, HOST_NAME_SIZE, "algo-2");
    (void)snprintf(j.part, sizeof(j.part), "algo-2");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cleanup_json json_t *target = input_download_target(&j, all[i]);
        CU_ASSERT_STRING_EQUAL(json_string_value(target), expected[i]);
    }
}

static void a_host_asks_the_one_above_it(void) {
    static const struct {
        size_t self;
        int64_t ready;
        const char *expected;
    } cases[] = {
        {0, 600, "{\"listener\": 9, \"key\": \"" KEY "\", \"first\": true}"},
        {1, 600,
         "{\"listener\": 9, \"key\": \"" KEY "\", \"from\": \"https://algo-1:7074\", \"name\": "
         "\"algo-1\", \"patience\": 60}"},
        {4, 3,
         "{\"listener\": 9, \"key\": \"" KEY "\", \"from\": \"https://[fd00::2]:7074\", "
         "\"name\": \"fd00::2\", \"patience\": 1}"},
    };
    struct cluster_host five[5] = {{.name = {"algo-1"}}, {.name = {"fd00::2"}}};
    struct job j;
    unsigned char key[KEY_SIZE];
    memset(key, 0xa5, sizeof(key));
    fill(&j);
    j.cluster.hosts = five;
    j.cluster.count = 5;
    j.ports.passing = 7074;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        j.cluster.self = cases[i].self;
        j.settings.ready_seconds = cases[i].ready;
        cleanup_json json_t *sharing = input_download_sharing(&j, 9, key, NULL);
        cleanup_json json_t *expected = json_loads(cases[i].expected, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL(expected);
        CU_ASSERT_EQUAL(json_equal(sharing, expected), 1);
    }
}

/* If hosts are only counted, the platform gives the address of the first one, and the first one
 * gives those of the rest. */
static void a_counted_host_asks_the_given_parent(void) {
    static const struct {
        size_t self;
        const char *told, *expected;
    } cases[] = {
        {0, NULL, "{\"listener\": 9, \"key\": \"" KEY "\", \"first\": true}"},
        {2, NULL,
         "{\"listener\": 9, \"key\": \"" KEY "\", \"from\": \"https://10.0.0.7:7074\", \"name\": "
         "\"node-0\", \"patience\": 60}"},
        {3, NULL, "{\"listener\": 9, \"key\": \"" KEY "\"}"},
        {3, "fd00::2",
         "{\"listener\": 9, \"key\": \"" KEY "\", \"from\": \"https://[fd00::2]:7074\", "
         "\"name\": \"node-1\", \"patience\": 60}"},
    };
    struct cluster_host four[4] = {{.name = {"node-0"}}, {.name = {"node-1"}}};
    struct job j;
    unsigned char key[KEY_SIZE];
    memset(key, 0xa5, sizeof(key));
    fill(&j);
    j.cluster.hosts = four;
    j.cluster.count = 4;
    j.cluster.counted = true;
    j.cluster.master_at = (struct host_name){"10.0.0.7"};
    j.ports.passing = 7074;
    j.settings.ready_seconds = 600;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        j.cluster.self = cases[i].self;
        cleanup_json json_t *sharing = input_download_sharing(&j, 9, key, cases[i].told);
        cleanup_json json_t *expected = json_loads(cases[i].expected, 0, NULL);
        CU_ASSERT_EQUAL(json_equal(sharing, expected), 1);
    }
}

static struct loop loop;
static struct error failed;
static int ends;

/* Beside the tests' own programs there is none that fetches: that is how a begin shows. */
static void count_end(void *context, const struct error *failure) {
    (void)context;
    ends++;
    if (failure != NULL)
        failed = *failure;
    loop_end(&loop);
}

/* A host that does not know which host to ask begins when it is told, once, or when its patience is
 * over. */
static void who_is_not_told_begins_by_itself(void) {
    static struct cluster_host four[4];
    static const unsigned char key[KEY_SIZE];
    struct job j;
    struct input_download s;
    fill(&j);
    j.cluster = (struct cluster){.hosts = four, .count = 4, .self = 3, .counted = true};
    j.settings.ready_seconds = 1;
    j.ports.passing = ports_own();
    const struct services services = {.loop = &loop, .job = &j, .environment = environment};
    const struct input_download_options options = {.key = key, .done = count_end};
    for (int told = 0; told < 2; told++) {
        CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
        ends = 0;
        failed = (struct error){0};
        CU_ASSERT_EQUAL(input_download_start(&s, &services, &options, NULL), 0);
        CU_ASSERT_EQUAL(ends, 0);
        if (told) {
            input_download_ask(&s, "10.0.0.2");
            input_download_ask(&s, "10.0.0.3");
        } else {
            CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
        }
        CU_ASSERT_EQUAL(ends, 1);
        ASSERT_CONTAINS(failed.text, "was built without libcurl");
        input_download_close(&s);
        input_download_ask(&s, "10.0.0.2");
        CU_ASSERT_EQUAL(ends, 1);
        loop_done(&loop);
    }
}

static void passing_on_takes_others_and_something_to_fetch(void) {
    struct job j;
    fill(&j);
    CU_ASSERT_FALSE(input_download_passes_on(&j));
    j.settings.fetch_once = true;
    CU_ASSERT_TRUE(input_download_passes_on(&j));
    j.cluster.count = 1;
    CU_ASSERT_FALSE(input_download_passes_on(&j));
    j.cluster.count = 3;
    j.sources = (struct download_sources){0};
    CU_ASSERT_FALSE(input_download_passes_on(&j));
}

/* Each host has its own. */
static void an_archive_of_this_machine_is_a_file_that_nobody_passes_on(void) {
    static const char *const given[] = {"/opt/ml/input/data/code/s.tar.gz",
                                        "file:///opt/ml/input/data/code/s.tar.gz"};
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        struct job j;
        fill(&j);
        j.sources.code = given[i];
        cleanup_json json_t *order = input_download_order(&j, environment);
        const json_t *code = json_array_get(json_object_get(order, "tasks"), 0);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(code, "from")), given[1]);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(code, "to")), "/opt/ml/code");
        CU_ASSERT_TRUE(json_is_true(json_object_get(code, "unpack")));
        CU_ASSERT_TRUE(json_is_false(json_object_get(code, "pass")));
    }
}

static void the_sdks_region_is_handed_on(void) {
    struct job j;
    char *none[] = {NULL};
    fill(&j);
    j.request.region = "us-west-2";
    cleanup_json json_t *order = input_download_order(&j, none);
    const json_t *list = json_object_get(order, "environment");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 0)),
                           "SAGEMAKER_REGION=us-west-2");
}

/* Beside the tests' own programs there is none that fetches. */
static void a_build_without_it_says_so(void) {
    struct job j;
    struct input_download s;
    struct error err = {0};
    fill(&j);
    const struct services services = {.job = &j, .environment = environment};
    const struct input_download_options options = {0};
    CU_ASSERT_EQUAL(input_download_start(&s, &services, &options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "was built without libcurl, libarchive or Expat");
    input_download_close(&s);
}

UNIT_SUITE("host.input_download", UNIT(targets_are_tried_and_checkpoints_come_back),
           UNIT(jobs_of_one_platform_have_targets_of_their_own),
           UNIT(an_order_has_all_that_is_needed_and_no_more), UNIT(a_host_asks_the_one_above_it),
           UNIT(a_counted_host_asks_the_given_parent), UNIT(who_is_not_told_begins_by_itself),
           UNIT(passing_on_takes_others_and_something_to_fetch),
           UNIT(an_archive_of_this_machine_is_a_file_that_nobody_passes_on),
           UNIT(the_sdks_region_is_handed_on), UNIT(a_build_without_it_says_so))
