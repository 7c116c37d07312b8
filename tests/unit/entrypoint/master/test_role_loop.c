#include "tests/unit/entrypoint/stage.h"

static struct stage_host host;

static void a_host_alone_lives_once(void) {
    const char *const words[] = {"--", "sh", "-c", "exit 5", NULL};
    const char *const settings[] = {"RINGMASTER_FAILOVER=1", "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=2", NULL};
    stage_start(&host, "alone", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), 5);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 5; attempt 1 of 3");
}

/* Nobody but the host itself is left to wait for; the next attempt is an attempt as ever. */
static void a_host_alone_tries_again(void) {
    const char *const words[] = {"--", "sh", "-c", "[ $RINGMASTER_ATTEMPT = 2 ] || kill -KILL $$",
                                 NULL};
    const char *const settings[] = {"RINGMASTER_FAILOVER=1", "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=2", NULL};
    stage_start(&host, "again", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_output(&host), "the only rank ended with 0; attempt 2 of 3");
}

STAGE_SUITE("master.role_loop", UNIT(a_host_alone_lives_once), UNIT(a_host_alone_tries_again))
