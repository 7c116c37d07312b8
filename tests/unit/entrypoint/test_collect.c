#include "unit/entrypoint/stage.h"

static struct stage_host host;

static int run(const char *script) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                    NULL};
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_start(&host, "host", settings, words);
    return stage_end(&host, 30);
}

static void the_first_failure_is_the_jobs(void) {
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || exec sleep 60; echo the cause; exit 42"), 42);
    ASSERT_CONTAINS(stage_failure(&host), "program: 127.0.0.1 rank 1: exited with 42\n");
    ASSERT_CONTAINS(stage_failure(&host), "the cause");
    CU_ASSERT_EQUAL(run("[ $RANK = 0 ] || exec sleep 60; kill -SEGV $$"), 139);
    ASSERT_CONTAINS(stage_failure(&host), "127.0.0.1 rank 0");
}

/* Killing the shim takes its program along, and its silence is a failure of that rank. */
static void a_rank_that_vanishes_is_a_failure(void) {
    if (!stage_has_mpirun())
        return;
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || exec sleep 60; kill -KILL $PPID; sleep 60"), 137);
    ASSERT_CONTAINS(stage_failure(&host), "rank 1");
}

static void ranks_may_end_at_different_times(void) {
    if (!stage_has_mpirun())
        return;
    CU_ASSERT_EQUAL(run("[ $RANK = 1 ] || sleep 2.5"), 0);
}

STAGE_MAIN("entrypoint.collect", UNIT(the_first_failure_is_the_jobs),
           UNIT(a_rank_that_vanishes_is_a_failure), UNIT(ranks_may_end_at_different_times))
