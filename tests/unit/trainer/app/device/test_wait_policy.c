#include "tests/support/unit.h"
#include "trainer/app/device/wait_policy.h"

static void a_quiet_machine_spins(void) {
    CU_ASSERT_FALSE(wait_policy_is_crowded(2, 1, 2, 0.1));
    CU_ASSERT_FALSE(wait_policy_is_crowded(0, 1, 64, 0.4));
    CU_ASSERT_FALSE(wait_policy_is_crowded(4, 4, 64, 20));
}

static void more_threads_than_cores_sleep(void) {
    CU_ASSERT(wait_policy_is_crowded(2, 3, 2, 0));
    CU_ASSERT(wait_policy_is_crowded(8, 1, 4, 0));
}

static void the_work_of_others_counts(void) {
    CU_ASSERT(wait_policy_is_crowded(0, 1, 2, 1.2));
    CU_ASSERT(wait_policy_is_crowded(2, 1, 2, 0.9));
}

static void one_thread_has_nobody_to_wait_for(void) {
    CU_ASSERT_FALSE(wait_policy_is_crowded(1, 8, 2, 30));
    CU_ASSERT_FALSE(wait_policy_is_crowded(0, 3, 2, 30));
}

UNIT_SUITE("app.wait_policy", UNIT(a_quiet_machine_spins), UNIT(more_threads_than_cores_sleep),
           UNIT(the_work_of_others_counts), UNIT(one_thread_has_nobody_to_wait_for))
