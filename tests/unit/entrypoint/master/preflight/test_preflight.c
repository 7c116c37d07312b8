#include "entrypoint/master/preflight/preflight.h"

#include "tests/unit/entrypoint/stage.h"

static struct stage_host one;

/* A host that does not come gets a row: those that have come are examined all the same. */
static void a_host_that_is_missing_is_a_row(void) {
    const char *master[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.1",
                            "RINGMASTER_READY_SECONDS=1", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&one, "one", master, NULL);
    CU_ASSERT_EQUAL(stage_end(&one), 69);
    ASSERT_CONTAINS(stage_output(&one), "127.0.0.2: missing: it has not joined");
    ASSERT_CONTAINS(stage_output(&one), "\nok       build      127.0.0.1: ringmaster ");
    ASSERT_CONTAINS(stage_output(&one), "\nok       kernel     127.0.0.1: Linux ");
}

/* A stop ends a check as it ends a job that waits. */
static void a_stop_ends_it(void) {
    const char *master[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2", "RINGMASTER_HOST=127.0.0.1",
                            NULL};
    stage_start(&one, "one", master, NULL);
    CU_ASSERT(stage_wait_for(&one, "waiting for 1 host"));
    CU_ASSERT_EQUAL(kill(one.pid, SIGTERM), 0);
    CU_ASSERT(stage_wait_for(&one, "received SIGTERM"));
    CU_ASSERT_EQUAL(stage_end(&one), 143);
}

STAGE_SUITE("master.preflight", UNIT(a_host_that_is_missing_is_a_row), UNIT(a_stop_ends_it))
