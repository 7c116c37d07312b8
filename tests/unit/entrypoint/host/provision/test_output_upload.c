#include "common/json/json.h"
#include "entrypoint/host/provision/output_upload.h"
#include "tests/support/unit.h"

#include <stdio.h>

static char *environment[] = {NULL};

static void fill(struct job *j, size_t self) {
    static struct cluster_host hosts[2];
    (void)snprintf(hosts[0].name.text, HOST_NAME_SIZE, "algo-1");
    (void)snprintf(hosts[1].name.text, HOST_NAME_SIZE, "algo-2");
    *j = (struct job){.settings = {.base_dir = "/opt/ml",
                                   .upload_seconds = 60,
                                   .checkpoints = "s3://b/c",
                                   .output = "s3://b/o"},
                      .cluster = {.hosts = hosts, .count = 2, .self = self}};
}

static void each_host_has_its_own_and_no_model_overwrites_the_first_ones(void) {
    struct job j;
    fill(&j, 0);
    cleanup_json json_t *order = output_upload_order(&j, environment);
    cleanup_json json_t *expected = json_loads(
        "{\"environment\": [], \"seconds\": 60, \"uploads\": ["
        "{\"what\": \"checkpoints\", \"from\": \"/opt/ml/checkpoints\", \"to\": \"s3://b/c/\", "
        "\"live\": true}, {\"what\": \"model\", \"from\": \"/opt/ml/model\", \"to\": "
        "\"s3://b/o/model/\", \"live\": false}, {\"what\": \"output\", \"from\": "
        "\"/opt/ml/output/data\", \"to\": \"s3://b/o/output/algo-1/data/\", \"live\": false}, "
        "{\"what\": \"failure\", \"from\": \"/opt/ml/output\", \"only\": \"failure\", \"to\": "
        "\"s3://b/o/output/algo-1/\", \"live\": false}]}",
        0, NULL);
    CU_ASSERT_EQUAL(json_equal(order, expected), 1);
    fill(&j, 1);
    cleanup_json json_t *second = output_upload_order(&j, environment);
    json_t *uploads = json_object_get(second, "uploads");
    CU_ASSERT_EQUAL(json_array_size(uploads), 4);
    cleanup_json json_t *model =
        json_loads("{\"what\": \"model\", \"from\": \"/opt/ml/model\", \"to\": "
                   "\"s3://b/o/output/algo-2/model/\", \"live\": false}",
                   0, NULL);
    CU_ASSERT_EQUAL(json_equal(json_array_get(uploads, 1), model), 1);
    j.settings.checkpoints = "file:///mnt/c"; /* a link */
    cleanup_json json_t *third = output_upload_order(&j, environment);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(third, "uploads")), 3);
}

static void ignore(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

/* Beside the tests' own programs there is none that uploads; what is not open has nothing to end.
 */
static void a_build_without_it_says_so(void) {
    struct job j;
    struct output_upload u;
    struct process_tree sweep = {0};
    struct error err = {0};
    fill(&j, 0);
    const struct services services = {.job = &j, .sweep = &sweep, .environment = environment};
    CU_ASSERT_EQUAL(output_upload_open(&u, &services, ignore, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "was built without libcurl, libarchive or Expat");
    CU_ASSERT_FALSE(u.open);
    CU_ASSERT_EQUAL(sweep.kept, 0);
    output_upload_set_deadline(&u, 1);
    output_upload_drop(&u);
    output_upload_close(&u);
}

UNIT_SUITE("host.output_upload", UNIT(each_host_has_its_own_and_no_model_overwrites_the_first_ones),
           UNIT(a_build_without_it_says_so))
