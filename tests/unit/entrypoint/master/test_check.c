#include "master/check.h"

#include "unit/entrypoint/stage.h"

static void the_table_has_a_row_a_host_and_warns_of_what_will_hurt(void) {
    struct cluster_host hosts[2] = {{.name = {"algo-1"}, .slots = 1},
                                    {.name = {"algo-2"}, .slots = 8}};
    struct cluster cluster = {.hosts = hosts, .count = 2};
    struct facts good = {.version = "0.1.0",
                         .openmpi = "4.1.4",
                         .job = 1,
                         .cpus = 4,
                         .memory_mib = 16000,
                         .shm_mib = 8000,
                         .files = 65536};
    struct facts poor = {
        .version = "0.1.0", .job = 1, .cpus = 2, .memory_mib = 900, .shm_mib = 16, .files = 256};
    const struct facts *facts[2] = {&good, &poor};
    const int64_t offsets[2] = {0, -2 * CLOCK_SECOND};
    struct buf table;
    buf_init(&table, 8192);
    CU_ASSERT_EQUAL(check_table(&cluster, facts, offsets, &table, NULL), 0);
    const char *text = buf_text(&table);
    ASSERT_CONTAINS(text, "host");
    /* Slots, cores, memory, shared memory, files, clock, Open MPI, build. */
    ASSERT_CONTAINS(text, "\nalgo-1                   1     4       16000     8000    65536     "
                          "0.000  4.1.4      0.1.0\n");
    ASSERT_CONTAINS(text, "\nalgo-2                   8     2         900       16      256    "
                          "-2.000  -          0.1.0\n");
    ASSERT_CONTAINS(text, "warning: algo-2: 8 ranks share 2 cores\n");
    ASSERT_CONTAINS(text, "warning: algo-2: /dev/shm has 16 MiB");
    ASSERT_CONTAINS(text, "warning: algo-2: 256 open files");
    ASSERT_CONTAINS(text, "warning: algo-2: its clock is off by -2.000 s");
    CU_ASSERT_PTR_NULL(strstr(text, "warning: algo-1"));
    buf_done(&table);
}

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
    CU_ASSERT(stage_wait_for(&one, "waiting for 1 hosts", 10));
    stage_start(&two, "two", worker, NULL);
    CU_ASSERT_EQUAL(stage_end(&one, 20), 0);
    CU_ASSERT_EQUAL(stage_end(&two, 20), 0);
    ASSERT_CONTAINS(stage_output(&one), "memory MiB");
    ASSERT_CONTAINS(stage_output(&one), "\n127.0.0.2 ");
    ASSERT_CONTAINS(stage_output(&one), "2 hosts can run 2 ranks");
    ASSERT_CONTAINS(stage_output(&two), "joined 127.0.0.1");
}

STAGE_MAIN("master.check", UNIT(the_table_has_a_row_a_host_and_warns_of_what_will_hurt),
           UNIT(two_hosts_meet_and_both_leave_with_0))
