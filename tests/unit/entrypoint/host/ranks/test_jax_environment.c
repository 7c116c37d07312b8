#include "entrypoint/host/ranks/jax_environment.h"
#include "tests/support/unit.h"

#include <stdio.h>

static void programs_find_the_coordinator_and_their_number(void) {
    const struct rank_place place = {.rank = 5, .size = 6, .local_rank = 1, .local_size = 2};
    static const char *const expected[][2] = {{"JAX_COORDINATOR_ADDRESS", "10.0.0.1:7075"},
                                              {"JAX_COORDINATOR_PORT", "7075"},
                                              {"JAX_NUM_PROCESSES", "6"},
                                              {"JAX_PROCESS_ID", "5"}};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "JAX_NUM_PROCESSES", "3", NULL), 0); /* Kubeflow: hosts */
    CU_ASSERT_EQUAL(jax_environment_add(&place, "10.0.0.1", 7075, 0, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 4);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[i][0]), expected[i][1]);
    CU_ASSERT_EQUAL(jax_environment_add(&place, "fd00::1", 7075, 0, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "JAX_COORDINATOR_ADDRESS"), "[fd00::1]:7075");
}

static void ranks_of_a_host_share_its_gpus(void) {
    static const struct {
        unsigned gpus, local_rank, local_size;
        const char *visible, *own, *devices;
    } rows[] = {{8, 0, 1, NULL, NULL, "0,1,2,3,4,5,6,7"},
                {8, 3, 8, NULL, NULL, "3"},
                {8, 1, 2, NULL, NULL, "4,5,6,7"},
                {8, 1, 3, NULL, NULL, NULL},
                {1, 1, 2, NULL, NULL, NULL},
                {0, 0, 1, NULL, NULL, NULL},
                {65, 0, 1, NULL, NULL, NULL},
                {8, 0, 0, NULL, NULL, NULL},
                {8, 1, 2, "4, 6", NULL, "1"},
                {8, 0, 1, "GPU-a,GPU-b,-1,3", NULL, "0,1"},
                {8, 0, 1, "", NULL, NULL},
                {8, 0, 1, "-1", NULL, NULL},
                {8, 0, 1, NULL, "7", "7"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct rank_place place = {
            .size = 8, .local_rank = rows[i].local_rank, .local_size = rows[i].local_size};
        cleanup_argv struct argv got = {0};
        if (rows[i].visible != NULL)
            CU_ASSERT_EQUAL(argv_set_env(&got, "CUDA_VISIBLE_DEVICES", rows[i].visible, NULL), 0);
        if (rows[i].own != NULL)
            CU_ASSERT_EQUAL(argv_set_env(&got, "JAX_LOCAL_DEVICE_IDS", rows[i].own, NULL), 0);
        CU_ASSERT_EQUAL(jax_environment_add(&place, "a", 1, rows[i].gpus, &got, NULL), 0);
        const char *devices = argv_get_env(&got, "JAX_LOCAL_DEVICE_IDS");
        CU_ASSERT_STRING_EQUAL(devices != NULL ? devices : "none",
                               rows[i].devices != NULL ? rows[i].devices : "none");
    }
}

UNIT_SUITE("host.jax_environment", UNIT(programs_find_the_coordinator_and_their_number),
           UNIT(ranks_of_a_host_share_its_gpus))
