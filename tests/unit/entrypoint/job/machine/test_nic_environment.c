#include "common/file/file.h"
#include "entrypoint/job/machine/nic_environment.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void every_library_hears_of_the_same_interface(void) {
    static const char *const expected[][2] = {{"NCCL_SOCKET_IFNAME", "=eth1"},
                                              {"GLOO_SOCKET_IFNAME", "eth1"},
                                              {"TP_SOCKET_IFNAME", "eth1"},
                                              {"FI_TCP_IFACE", "eth1"},
                                              {"UCX_NET_DEVICES", "eth1"}};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(nic_environment_add("eth1", unit_temp_dir(), &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 5);
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[i][0]), expected[i][1]);
}

static void what_the_job_sets_stays(void) {
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "NCCL_SOCKET_IFNAME", "ib0,ib1", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&got, "UCX_NET_DEVICES", "", NULL), 0);
    CU_ASSERT_EQUAL(nic_environment_add("eth1", unit_temp_dir(), &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "NCCL_SOCKET_IFNAME"), "ib0,ib1");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "UCX_NET_DEVICES"), "");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "GLOO_SOCKET_IFNAME"), "eth1");
    CU_ASSERT_EQUAL(got.count, 5);
}

static void make(const char *name, const char *text) {
    char path[4500];
    (void)snprintf(path, sizeof(path), "%s/host/%s", unit_temp_dir(), name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    *slash = '/';
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

/* Returns UCX_NET_DEVICES as set for INTERFACE on this test's host; "" if it is not set. */
static const char *told(const char *interface) {
    static char text[64];
    char root[4300];
    cleanup_argv struct argv got = {0};
    (void)snprintf(root, sizeof(root), "%s/host", unit_temp_dir());
    CU_ASSERT_EQUAL(nic_environment_add(interface, root, &got, NULL), 0);
    const char *value = argv_get_env(&got, "UCX_NET_DEVICES");
    CU_ASSERT_EQUAL(got.count, value != NULL ? 5 : 4);
    (void)snprintf(text, sizeof(text), "%s", value != NULL ? value : "");
    return text;
}

/* UCX gets the device of the interface. If only other interfaces have devices, UCX chooses among
 * them. A device that the container cannot reach does not count. */
static void ucx_is_told_of_its_device(void) {
    CU_ASSERT_STRING_EQUAL(told("eth1"), "eth1");
    make("sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    make("sys/class/infiniband/mlx5_1/device/net/eth1/dev_port", "0\n");
    CU_ASSERT_STRING_EQUAL(told("eth1"), "eth1");
    make("dev/infiniband/uverbs1", "");
    make("sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_1\n");
    CU_ASSERT_STRING_EQUAL(told("eth1"), "mlx5_1:1");
    CU_ASSERT_STRING_EQUAL(told("eth0"), "");
}

static void the_jobs_own_are_reported(void) {
    static char nccl[] = "NCCL_SOCKET_IFNAME=ib0", other[] = "A=b",
                gloo[] = "GLOO_SOCKET_IFNAME=lo";
    char *environment[] = {gloo, other, nccl, NULL};
    char text[NIC_ENVIRONMENT_TEXT_SIZE];
    nic_environment_own(environment, text);
    CU_ASSERT_STRING_EQUAL(text, "NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=lo");
    nic_environment_own(environment + 3, text);
    CU_ASSERT_STRING_EQUAL(text, "");
}

/* The job's own values may have any length. */
static void long_values_fit(void) {
    char nccl[200] = "NCCL_SOCKET_IFNAME=", gloo[200] = "GLOO_SOCKET_IFNAME=",
         pipe[200] = "TP_SOCKET_IFNAME=", fabric[200] = "FI_TCP_IFACE=",
         ucx[200] = "UCX_NET_DEVICES=";
    char *environment[] = {nccl, gloo, pipe, fabric, ucx, NULL};
    char text[NIC_ENVIRONMENT_TEXT_SIZE];
    for (size_t i = 0; i < 5; i++)
        memset(environment[i] + strlen(environment[i]), 'x', 150);
    nic_environment_own(environment, text);
    CU_ASSERT(strlen(text) < sizeof(text));
    ASSERT_CONTAINS(text, "UCX_NET_DEVICES=xxx");
}

UNIT_SUITE("job.nic_environment", UNIT(every_library_hears_of_the_same_interface),
           UNIT(what_the_job_sets_stays), UNIT(ucx_is_told_of_its_device),
           UNIT(the_jobs_own_are_reported), UNIT(long_values_fit))
