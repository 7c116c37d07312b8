#include "common/file/file.h"
#include "entrypoint/job/job_hosts.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>

static void make_device(const char *root, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s/%s", unit_temp_dir(), root, name);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
}

/* Two GPUs on one host, three Neuron cores on another one, both on a third. */
static void ranks_are_as_many_as_accelerators_unless_it_is_said(void) {
    static const struct {
        const char *root;
        struct mpi_options mpi_options;
        size_t hosts;
        unsigned slots;
    } cases[] = {
        {"bare", {0}, 2, 1},
        {"gpus", {0}, 2, 2},
        {"neurons", {0}, 2, 3},
        {"both", {0}, 2, 2},
        {"gpus", {.slots = 5}, 2, 5},
        {"neurons", {.slots = 1}, 2, 1},
        {"bare", {.ranks = 7}, 2, 4},
        {"gpus", {.ranks = 7}, 2, 4},
        {"neurons", {.ranks = 2}, 2, 3},
        {"gpus", {.slots = 3, .ranks = 7}, 1, 3},
        {"bare", {.ranks = 100000}, 1, CLUSTER_SLOTS_MAX},
    };
    make_device("gpus", "dev/nvidia0");
    make_device("gpus", "dev/nvidia7");
    make_device("gpus", "dev/nvidiactl");
    make_device("both", "dev/nvidia0");
    make_device("both", "dev/nvidia1");
    for (int core = 0; core < 3; core++) {
        char name[96];
        snprintf(name, sizeof(name), "sys/devices/virtual/neuron_device/neuron%d/neuron_core0",
                 core);
        make_device("neurons", name);
        make_device("both", name);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char root[PATH_MAX];
        snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), cases[i].root);
        CU_ASSERT_EQUAL(job_hosts_slots(&cases[i].mpi_options, cases[i].hosts, root),
                        cases[i].slots);
    }
}

static void hosts_stay_where_slots_are_wrong(void) {
    char *environment[] = {NULL};
    const struct settings settings = {
        .hosts = "a,b", .host = "a", .port = 7070, .base_dir = "/nonexistent"};
    const struct sagemaker_request request = {.mpi_options = {.slots = 2, .ranks = 5}};
    struct job_hosts hosts;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_hosts_read(&settings, &request, false, environment, &hosts, &err), -1);
    ASSERT_CONTAINS(err.text, "sagemaker_mpi_num_processes");
    CU_ASSERT_EQUAL(hosts.cluster.count, 2);
    CU_ASSERT_EQUAL(hosts.cluster.hosts[1].slots, 2);
    CU_ASSERT_EQUAL(hosts.ports.control, 7070);
    cluster_done(&hosts.cluster);
}

static void once_a_host_wins_over_slots(void) {
    char *environment[] = {NULL};
    const struct settings settings = {.hosts = "a:4,b:4",
                                      .host = "a",
                                      .port = 7070,
                                      .ranks_per_host = 3,
                                      .base_dir = "/nonexistent"};
    const struct sagemaker_request request = {.mpi_options = {.slots = 2}};
    struct job_hosts hosts;
    CU_ASSERT_EQUAL(job_hosts_read(&settings, &request, false, environment, &hosts, NULL), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&hosts.cluster), 6);
    cluster_done(&hosts.cluster);
    CU_ASSERT_EQUAL(job_hosts_read(&settings, &request, true, environment, &hosts, NULL), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&hosts.cluster), 2);
    cluster_done(&hosts.cluster);
}

UNIT_SUITE("job.job_hosts", UNIT(ranks_are_as_many_as_accelerators_unless_it_is_said),
           UNIT(hosts_stay_where_slots_are_wrong), UNIT(once_a_host_wins_over_slots))
