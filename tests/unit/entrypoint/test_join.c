#include "unit/entrypoint/stage.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2";

static void start_master(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", ready, NULL};
    stage_start(&master, "master", settings, words);
}

static void a_missing_host_is_named_at_the_deadline(void) {
    start_master("RINGMASTER_READY_SECONDS=1");
    CU_ASSERT_EQUAL(stage_end(&master, 20), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&master), "missing 127.0.0.2");
}

static void a_host_with_another_key_leaves_with_77_and_so_does_the_master(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2",
                                    "RINGMASTER_KEY=fedcba9876543210", NULL};
    start_master("RINGMASTER_READY_SECONDS=5");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts", 10));
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&worker, 20), EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(stage_failure(&worker), "another image build or key");
    CU_ASSERT_EQUAL(stage_end(&master, 20), EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(stage_failure(&master), "another image build or key");
}

static void a_host_that_was_told_otherwise_is_an_error_for_both(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2:7",
                                    "RINGMASTER_HOST=127.0.0.2", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    start_master("RINGMASTER_READY_SECONDS=20");
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 hosts", 10));
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&master, 20), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stage_end(&worker, 20), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&worker), "slots");
}

static void a_busy_control_port_is_an_error_at_once(void) {
    struct error err;
    struct in_addr any = {.s_addr = 0};
    int taken = door_listen(any, stage_port(), &err);
    CU_ASSERT_FATAL(taken >= 0);
    start_master("RINGMASTER_READY_SECONDS=20");
    CU_ASSERT_EQUAL(stage_end(&master, 10), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&master), "of the control link");
    ASSERT_CONTAINS(stage_failure(&master), "RINGMASTER_PORT");
    (void)close(taken);
}

STAGE_MAIN("entrypoint.join", UNIT(a_missing_host_is_named_at_the_deadline),
           UNIT(a_host_with_another_key_leaves_with_77_and_so_does_the_master),
           UNIT(a_host_that_was_told_otherwise_is_an_error_for_both),
           UNIT(a_busy_control_port_is_an_error_at_once))
