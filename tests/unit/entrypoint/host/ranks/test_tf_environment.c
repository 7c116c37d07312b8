#include "entrypoint/host/ranks/tf_environment.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct cluster_host hosts[] = {
    {.name.text = "algo-1", .slots = 2},
    {.name.text = "algo-2", .slots = 2, .gone = true},
    {.name.text = "fd00::3", .slots = 1},
};
static const struct job job = {.settings.tf_config = true,
                               .cluster = {.hosts = hosts, .count = 3},
                               .ports = {.data = 7086, .data_count = 64}};

static void every_rank_is_a_worker(void) {
    static const char *const workers = "{\"cluster\":{\"worker\":[\"algo-1:7149\",\"algo-1:7148\","
                                       "\"[fd00::3]:7149\"]},\"task\":{\"type\":\"worker\","
                                       "\"index\":2}}";
    const struct rank_place place = {.rank = 2, .size = 3};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "TF_CONFIG", "the platform's", NULL), 0);
    CU_ASSERT_EQUAL(tf_environment_add_workers(&job, &got, NULL), 0);
    CU_ASSERT_EQUAL(tf_environment_add_rank(&place, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 1);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "TF_CONFIG"), workers);
}

static void without_a_request_nothing_is_set(void) {
    const struct job silent = {.cluster = job.cluster, .ports = job.ports};
    const struct rank_place place = {.rank = 2, .size = 3};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "TF_CONFIG", "the platform's", NULL), 0);
    CU_ASSERT_EQUAL(tf_environment_add_workers(&silent, &got, NULL), 0);
    CU_ASSERT_EQUAL(tf_environment_add_rank(&place, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 1);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "TF_CONFIG"), "the platform's");
}

static void another_number_of_ranks_is_an_error(void) {
    const struct rank_place place = {.rank = 0, .size = 5};
    cleanup_argv struct argv got = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(tf_environment_add_workers(&job, &got, NULL), 0);
    CU_ASSERT_EQUAL(tf_environment_add_rank(&place, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "3 workers, but there are 5 ranks");
}

UNIT_SUITE("host.tf_environment", UNIT(every_rank_is_a_worker),
           UNIT(without_a_request_nothing_is_set), UNIT(another_number_of_ranks_is_an_error))
