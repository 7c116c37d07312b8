#include "tests/unit/entrypoint/stage.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const master_settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                              "RINGMASTER_HOST=127.0.0.1",
                                              "RINGMASTER_READY_SECONDS=30", NULL};
static const char *const worker_settings[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2",
                                              "RINGMASTER_HOST=127.0.0.2",
                                              "RINGMASTER_READY_SECONDS=30", NULL};

static void a_job_of_one_rank_runs_without_mpirun(void) {
    const char *words[] = {"--", "echo", "hello", NULL};
    stage_start(&master, "alone", NULL, words);
    CU_ASSERT_EQUAL(stage_end(&master), 0);
    ASSERT_CONTAINS(stage_output(&master), " rank 0] hello\n");
    ASSERT_CONTAINS(stage_output(&master), "the only rank ended with 0");
}

/* The worker has no mpirun on its PATH, which it finds out before it joins. */
static void a_fault_of_one_host_is_every_hosts_verdict(void) {
    const char *const elsewhere[] = {worker_settings[0], worker_settings[1], "PATH=/no/such/folder",
                                     "RINGMASTER_LAUNCHER=mpirun", NULL};
    const char *words[] = {"--", "/bin/true", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&master, "healthy", master_settings, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 1 host"));
    stage_start(&worker, "faulty", elsewhere, words);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_NOT_FOUND);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2");
    ASSERT_CONTAINS(stage_failure(&master), "mpirun");
    ASSERT_CONTAINS(stage_failure(&worker), "mpirun");
}

/* Without mpirun in its image, the other host would start its ranks directly. */
static void hosts_that_start_ranks_in_two_ways_are_no_job(void) {
    const char *const elsewhere[] = {worker_settings[0], worker_settings[1], "PATH=/no/such/folder",
                                     NULL};
    const char *words[] = {"--", "/bin/true", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&master, "with", master_settings, words);
    stage_start(&worker, "without", elsewhere, words);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&master), "it starts ranks by direct, the master by mpirun");
}

static void a_stop_of_the_worker_before_the_launch_reaches_the_master(void) {
    const char *const three[] = {"RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3",
                                 "RINGMASTER_HOST=127.0.0.1", NULL};
    const char *const second[] = {three[0], "RINGMASTER_HOST=127.0.0.2", NULL};
    const char *words[] = {"--", "/bin/true", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&master, "first", three, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts"));
    stage_start(&worker, "second", second, words);
    CU_ASSERT(stage_wait_for(&worker, "joined"));
    (void)kill(worker.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&master), EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(stage_end(&worker), EXIT_CODE_STOPPED);
}

STAGE_SUITE("master.master", UNIT(a_job_of_one_rank_runs_without_mpirun),
            UNIT(a_fault_of_one_host_is_every_hosts_verdict),
            UNIT(hosts_that_start_ranks_in_two_ways_are_no_job),
            UNIT(a_stop_of_the_worker_before_the_launch_reaches_the_master))
