#include "common/json.h"
#include "supply/transfer_task.h"
#include "support/unit.h"

#include <string.h>

static char region[] = "AWS_REGION=eu-west-1";
static char other[] = "HOME=/root";
static char similar[] = "AWSOME=x";
static char endpoint[] = "S3_ENDPOINT_URL=http://x";
static char *environment[] = {region, other, similar, endpoint, NULL};

static void only_what_s3_needs_is_handed_on(void) {
    const struct job job = {0};
    cleanup_json json_t *list = transfer_task_environment(&job, environment);
    CU_ASSERT_EQUAL(json_array_size(list), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 0)), region);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, 1)), endpoint);
}

/* Beside the tests' own programs there is none that transfers. */
static void a_build_without_it_says_so(void) {
    const struct job job = {0};
    struct task task = {0};
    struct error err = {0};
    const struct transfer_task_options options = {.job = &job, .verb = "fetch"};
    CU_ASSERT_EQUAL(transfer_task_start(&task, &options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "was built without libcurl, libarchive or Expat");
}

static void the_last_line_is_its_word(void) {
    struct task task = {0};
    CU_ASSERT_STRING_EQUAL(transfer_task_last_word(&task), "");
    static const char text[] = "first\nlast";
    memcpy(task.tail.text, text, sizeof(text) - 1);
    task.tail.size = sizeof(text) - 1;
    CU_ASSERT_STRING_EQUAL(transfer_task_last_word(&task), "last");
}

UNIT_MAIN("host.transfer_task", UNIT(only_what_s3_needs_is_handed_on),
          UNIT(a_build_without_it_says_so), UNIT(the_last_line_is_its_word))
