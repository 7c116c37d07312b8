#include "entrypoint/master/preflight/check.h"

#include "tests/unit/entrypoint/stage.h"

static struct stage_host one;
static struct stage_host two;

static void two_hosts_meet_and_both_leave_with_0(void) {
    const char *master[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.1",
                            NULL};
    const char *worker[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.2",
                            NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&one, "one", master, NULL);
    CU_ASSERT(stage_wait_for(&one, "waiting for 1 host"));
    stage_start(&two, "two", worker, NULL);
    CU_ASSERT_EQUAL(stage_end(&one), 0);
    CU_ASSERT_EQUAL(stage_end(&two), 0);
    ASSERT_CONTAINS(stage_output(&one), "\nok       host       all 2 hosts: joined, and can");
    ASSERT_CONTAINS(stage_output(&one),
                    "\nok       reach      all 2 hosts: 2 connections, the longest");
    ASSERT_CONTAINS(stage_output(&one), "\nok       bandwidth  all 2 hosts: all hosts at once ");
    ASSERT_CONTAINS(stage_output(&one), "2 hosts can run 2 ranks");
    CU_ASSERT_PTR_NULL(strstr(stage_output(&one), "\033[")); /* no terminal, no colours */
    ASSERT_CONTAINS(stage_output(&two), "joined 127.0.0.1");
}

static void a_fault_in_bytes_that_are_no_text_is_bad_too(void) {
    const char *settings[] = {"RINGMASTER_HOSTS=127.0.0.1", "RINGMASTER_HOST=127.0.0.1",
                              "RINGMASTER_USER=\xff", NULL};
    stage_start(&one, "odd", settings, NULL);
    CU_ASSERT_EQUAL(stage_end(&one), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_output(&one), "bad      host       127.0.0.1: ");
    ASSERT_CONTAINS(stage_output(&one), "RINGMASTER_USER");
}

STAGE_SUITE("master.check", UNIT(a_fault_in_bytes_that_are_no_text_is_bad_too),
            UNIT(two_hosts_meet_and_both_leave_with_0))
