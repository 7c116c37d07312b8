#include "job/network.h"
#include "support/unit.h"

#include <string.h>

static void every_library_hears_of_the_same_interface(void) {
    static const char *const expected[][2] = {{"NCCL_SOCKET_IFNAME", "=eth1"},
                                              {"GLOO_SOCKET_IFNAME", "eth1"},
                                              {"TP_SOCKET_IFNAME", "eth1"},
                                              {"FI_TCP_IFACE", "eth1"},
                                              {"UCX_NET_DEVICES", "eth1"}};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(network_add("eth1", false, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 5);
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[i][0]), expected[i][1]);
}

static void what_the_job_sets_stays(void) {
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "NCCL_SOCKET_IFNAME", "ib0,ib1", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&got, "UCX_NET_DEVICES", "", NULL), 0);
    CU_ASSERT_EQUAL(network_add("eth1", false, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "NCCL_SOCKET_IFNAME"), "ib0,ib1");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "UCX_NET_DEVICES"), "");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "GLOO_SOCKET_IFNAME"), "eth1");
    CU_ASSERT_EQUAL(got.count, 5);
}

/* UCX would otherwise be kept from what it is there for. */
static void ucx_keeps_its_devices(void) {
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(network_add("eth1", true, &got, NULL), 0);
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "UCX_NET_DEVICES"));
    CU_ASSERT_EQUAL(got.count, 4);
}

static void the_jobs_own_are_told(void) {
    static char nccl[] = "NCCL_SOCKET_IFNAME=ib0", other[] = "A=b",
                gloo[] = "GLOO_SOCKET_IFNAME=lo";
    char *environment[] = {gloo, other, nccl, NULL};
    char text[NETWORK_TEXT_SIZE];
    network_own(environment, text);
    CU_ASSERT_STRING_EQUAL(text, "NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=lo");
    network_own(environment + 3, text);
    CU_ASSERT_STRING_EQUAL(text, "");
}

/* However long what a job says is. */
static void long_values_fit(void) {
    char nccl[200] = "NCCL_SOCKET_IFNAME=", gloo[200] = "GLOO_SOCKET_IFNAME=",
         pipe[200] = "TP_SOCKET_IFNAME=", fabric[200] = "FI_TCP_IFACE=",
         ucx[200] = "UCX_NET_DEVICES=";
    char *environment[] = {nccl, gloo, pipe, fabric, ucx, NULL};
    char text[NETWORK_TEXT_SIZE];
    for (size_t i = 0; i < 5; i++)
        memset(environment[i] + strlen(environment[i]), 'x', 150);
    network_own(environment, text);
    CU_ASSERT(strlen(text) < sizeof(text));
    ASSERT_CONTAINS(text, "UCX_NET_DEVICES=xxx");
}

UNIT_MAIN("job.network", UNIT(every_library_hears_of_the_same_interface),
          UNIT(what_the_job_sets_stays), UNIT(ucx_keeps_its_devices), UNIT(the_jobs_own_are_told),
          UNIT(long_values_fit))
