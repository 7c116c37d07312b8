#include "tests/unit/entrypoint/stage.h"

static struct stage_host one;
static struct stage_host two;

static void a_host_that_was_started_for_a_job_is_reported(void) {
    const char *master[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.1",
                            NULL};
    const char *worker[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.2",
                            NULL};
    const char *const words[] = {"--", "true", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&one, "one", master, NULL);
    CU_ASSERT(stage_wait_for(&one, "waiting for 1 host"));
    stage_start(&two, "two", worker, words);
    CU_ASSERT_EQUAL(stage_end(&one), 65);
    CU_ASSERT_EQUAL(stage_end(&two), 65);
    ASSERT_CONTAINS(stage_output(&one),
                    "bad      host       127.0.0.2: it was started for a job, not for a check");
    /* What else it was given is not held against it. */
    ASSERT_CONTAINS(stage_output(&one),
                    "ok       job        127.0.0.1: the same settings as the master");
    CU_ASSERT_PTR_NULL(strstr(stage_output(&one), "bad      job"));
}

STAGE_SUITE("host.supervisor_check", UNIT(a_host_that_was_started_for_a_job_is_reported))
