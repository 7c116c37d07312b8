#include "host/worker.h"

#include "support/lag.h"
#include "unit/entrypoint/stage.h"

static struct stage_host master;
static struct stage_host worker;

static const char *const words[] = {"--", "/bin/true", NULL};
static const char hosts[] = "RINGMASTER_HOSTS=127.0.0.1,127.0.0.2,127.0.0.3";

static void start_worker(const char *ready) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", ready, NULL};
    stage_start(&worker, "worker", settings, words);
}

static void without_a_master_it_leaves_at_the_deadline(void) {
    start_worker("RINGMASTER_READY_SECONDS=1");
    CU_ASSERT_EQUAL(stage_end(&worker, 20), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 was not there within 1 s");
}

/* Where another host may be the master they are dialled, too; it is the first one that is missed.
 */
static void it_is_the_first_host_that_was_not_there(void) {
    const char *const settings[] = {hosts,
                                    "RINGMASTER_HOST=127.0.0.3",
                                    "RINGMASTER_READY_SECONDS=4",
                                    "RINGMASTER_FAILOVER=1",
                                    "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1",
                                    NULL};
    stage_start(&worker, "worker", settings, words);
    CU_ASSERT_EQUAL(stage_end(&worker, 20), EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1 was not there within 4 s");
}

static void stopped_while_it_waits_it_leaves_with_143(void) {
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "waiting for 127.0.0.1", 10));
    (void)kill(worker.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&worker, 10), EXIT_CODE_STOPPED);
}

static bool stopping;
static bool back;

/* The life after one whose master was lost: the next host is dialled where it was last, or, where
 * it asks to be taken back, the first. */
static int follow(struct supervisor_options *options, int *ret_code, struct error *err) {
    struct succession succession;
    struct job job = *options->job;
    if (succession_open(&succession, &job, err) != 0)
        return -1;
    succession.again = true;
    succession.stopping = stopping;
    succession.back = succession.closed = back;
    options->succession = &succession;
    options->job = &job;
    int result = net_address_parse("127.0.0.1", &job.cluster.hosts[0].address)
                     ? worker_run(options, ret_code, err)
                     : -1;
    options->succession = NULL;
    succession_close(&succession);
    return result;
}

/* A stop between two lives is one of the next: it tries for five seconds to tell the new master. */
static void stopped_between_two_lives_it_leaves_after_five_seconds(void) {
    const char *const settings[] = {hosts,
                                    "RINGMASTER_HOST=127.0.0.2",
                                    "RINGMASTER_FAILOVER=1",
                                    "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1",
                                    NULL};
    struct lag lag;
    int64_t begun = clock_now();
    stopping = true;
    stage_life = follow;
    stage_start(&worker, "between", settings, words);
    stage_life = NULL;
    lag_begin(&lag);
    CU_ASSERT_EQUAL(stage_end(&worker, 30), EXIT_CODE_STOPPED);
    ASSERT_WITHIN(&lag, 7 * CLOCK_SECOND); /* all out two seconds later */
    CU_ASSERT(clock_now() - begun >= 5 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&worker), "stopped before the job began");
}

/* The first host's machine says that nobody listens there any more, where no other host leads. */
static void where_nobody_is_the_master_it_leaves_after_two_seconds(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.2", "RINGMASTER_SHRINK=1",
                                    "RINGMASTER_RESTARTS=1", NULL};
    struct lag lag;
    int64_t begun = clock_now();
    stopping = false;
    back = true;
    stage_life = follow;
    stage_start(&worker, "vain", settings, words);
    stage_life = NULL;
    lag_begin(&lag);
    CU_ASSERT_EQUAL(stage_end(&worker, 30), EXIT_CODE_HOST_LOST);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND); /* asked each second, and all out two seconds later */
    CU_ASSERT(clock_now() - begun >= 2 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&worker), "nobody listens at its address any more");
}

/* Its stop reaches the master, which would wait for it in vain. */
static void stopped_before_it_could_join_it_tells_the_master(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "waiting for 127.0.0.1", 10));
    (void)kill(worker.pid, SIGTERM);
    stage_start(&master, "told", settings, words);
    CU_ASSERT_EQUAL(stage_end(&master, 12), EXIT_CODE_STOPPED);
    CU_ASSERT_EQUAL(stage_end(&worker, 5), EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(stage_failure(&master), "127.0.0.2");
}

static void a_master_that_dies_is_a_lost_host(void) {
    const char *const settings[] = {hosts, "RINGMASTER_HOST=127.0.0.1", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&master, "master", settings, words);
    CU_ASSERT(stage_wait_for(&master, "waiting for 2 hosts", 10));
    start_worker("RINGMASTER_READY_SECONDS=60");
    CU_ASSERT(stage_wait_for(&worker, "joined", 10));
    (void)kill(master.pid, SIGKILL);
    CU_ASSERT_EQUAL(stage_end(&worker, 5), EXIT_CODE_HOST_LOST);
    ASSERT_CONTAINS(stage_failure(&worker), "127.0.0.1");
    ASSERT_CONTAINS(stage_failure(&worker), "the master is lost");
    CU_ASSERT_EQUAL(stage_end(&master, 5), 137);
}

STAGE_MAIN("host.worker", UNIT(without_a_master_it_leaves_at_the_deadline),
           UNIT(it_is_the_first_host_that_was_not_there),
           UNIT(stopped_while_it_waits_it_leaves_with_143),
           UNIT(stopped_between_two_lives_it_leaves_after_five_seconds),
           UNIT(where_nobody_is_the_master_it_leaves_after_two_seconds),
           UNIT(stopped_before_it_could_join_it_tells_the_master),
           UNIT(a_master_that_dies_is_a_lost_host))
