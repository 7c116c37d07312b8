#include "common/slots/slot_environment.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const LAUNCHED[] = {"PATH=/bin",
                                       "OMPI_COMM_WORLD_SIZE=4",
                                       "PMIX_RANK=1",
                                       "RANK=1",
                                       "WORLD_SIZE=4",
                                       "LOCAL_RANK=1",
                                       "LOCAL_WORLD_SIZE=4",
                                       "MASTER_ADDR=a",
                                       "MASTER_PORT=7073",
                                       "TORCHELASTIC_RUN_ID=x",
                                       "RINGMASTER_PROGRESS=/proc/self/fd/9",
                                       "RINGMASTER_ATTEMPT=2",
                                       "RANKING=kept",
                                       "SM_HOSTS=[]",
                                       NULL};

static void a_lone_child_has_no_place(void) {
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    const struct slot_place place = {.size = 1, .devices = ""};
    CU_ASSERT_EQUAL_FATAL(slot_environment(&a, (char *const *)LAUNCHED, &place, &err), 0);
    CU_ASSERT_EQUAL(a.count, 4);
    CU_ASSERT_STRING_EQUAL(a.items[0], "PATH=/bin");
    CU_ASSERT_STRING_EQUAL(a.items[1], "RANKING=kept");
    CU_ASSERT_STRING_EQUAL(a.items[2], "SM_HOSTS=[]");
    CU_ASSERT_PTR_NOT_NULL(argv_get_env(&a, SLOT_PARENT_VARIABLE));
}

static void a_rank_of_a_slice_has_its_own(void) {
    struct error err = {0};
    cleanup_argv struct argv a = {0};
    const struct slot_place place = {1, 3, 0, 2, "10.0.0.7", 40001, "job", "2,3", false};
    CU_ASSERT_EQUAL_FATAL(slot_environment(&a, (char *const *)LAUNCHED, &place, &err), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "RANK"), "1");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "WORLD_SIZE"), "3");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "LOCAL_RANK"), "0");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "LOCAL_WORLD_SIZE"), "2");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "MASTER_ADDR"), "10.0.0.7");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "MASTER_PORT"), "40001");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "TORCHELASTIC_RUN_ID"), "job");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "CUDA_VISIBLE_DEVICES"), "2,3");
    CU_ASSERT_PTR_NULL(argv_get_env(&a, "PMIX_RANK"));
    CU_ASSERT_PTR_NULL(argv_get_env(&a, "RINGMASTER_ATTEMPT"));
}

static void devices_are_those_of_the_slice(void) {
    char text[SLOT_DEVICES_SIZE];
    slot_devices(NULL, 2, 3, text);
    CU_ASSERT_STRING_EQUAL(text, "2,3");
    slot_devices("GPU-a,GPU-b,7", 1, 2, text);
    CU_ASSERT_STRING_EQUAL(text, "GPU-b,7");
    slot_devices("4", 1, 1, text);
    CU_ASSERT_STRING_EQUAL(text, "");
}

static void an_orphan_is_told(void) {
    struct error err = {0};
    char other[24];
    CU_ASSERT_EQUAL(unsetenv(SLOT_PARENT_VARIABLE), 0);
    CU_ASSERT_EQUAL(slot_parent_follow(&err), 0);
    (void)snprintf(other, sizeof(other), "%d", (int)getpid());
    CU_ASSERT_EQUAL(setenv(SLOT_PARENT_VARIABLE, other, 1), 0);
    CU_ASSERT_EQUAL(slot_parent_follow(&err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STOPPED);
    (void)snprintf(other, sizeof(other), "%d", (int)getppid());
    CU_ASSERT_EQUAL(setenv(SLOT_PARENT_VARIABLE, other, 1), 0);
    CU_ASSERT_EQUAL(slot_parent_follow(&err), 0);
    CU_ASSERT_PTR_NULL(getenv(SLOT_PARENT_VARIABLE));
}

UNIT_SUITE("common.slots.slot_environment", UNIT(a_lone_child_has_no_place),
           UNIT(a_rank_of_a_slice_has_its_own), UNIT(devices_are_those_of_the_slice),
           UNIT(an_orphan_is_told))
