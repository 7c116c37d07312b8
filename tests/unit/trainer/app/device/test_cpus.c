#include "common/system/cpus.h"
#include "tests/support/unit.h"
#include "trainer/app/device/cpus.h"

static void ranks_share_what_there_is(void) {
    struct cpus two = {.affinity = 2, .sharers = 1};
    CU_ASSERT_EQUAL(cpus_threads(&two, 1, 1), 2);
    CU_ASSERT_EQUAL(cpus_threads(&two, 3, 1), 2);
    two.sharers = 3;
    CU_ASSERT_EQUAL(cpus_threads(&two, 3, 3), 1);
    struct cpus many = {.affinity = 64, .sharers = 4};
    CU_ASSERT_EQUAL(cpus_threads(&many, 8, 4), 15);
    many.sharers = 1;
    CU_ASSERT_EQUAL(cpus_threads(&many, 1, 1), 64);
    many.quota = 6;
    CU_ASSERT_EQUAL(cpus_threads(&many, 1, 1), 6);
    CU_ASSERT_EQUAL(cpus_threads(&many, 2, 2), 3);
}

static void this_process_has_cores_and_shares_them_with_itself(void) {
    cleanup_comm struct comm *c = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, NULL), 0);
    struct cpus cpus = {0};
    CU_ASSERT_EQUAL(cpus_find(&cpus, c, NULL), 0);
    CU_ASSERT(cpus.affinity >= 1);
    CU_ASSERT_EQUAL(cpus.affinity, cpus_affinity());
    CU_ASSERT_EQUAL(cpus.sharers, 1);
}

UNIT_SUITE("app.cpus", UNIT(ranks_share_what_there_is),
           UNIT(this_process_has_cores_and_shares_them_with_itself))
