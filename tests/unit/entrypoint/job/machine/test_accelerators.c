#include "common/file/file.h"
#include "entrypoint/job/machine/accelerators.h"
#include "tests/support/rdma.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char root[4200];

static void make(const char *folder) {
    char path[4500];
    snprintf(path, sizeof(path), "%s/%s", root, folder);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
}

static void use_root(const char *name) {
    snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void gpus_are_counted_by_their_devices(void) {
    static const char *const names[] = {"nvidia0", "nvidia1",    "nvidia15", "nvidiactl",
                                        "nvidia",  "nvidia-uvm", "nvidia0x"};
    use_root("dev");
    CU_ASSERT_EQUAL(accelerators_gpus(root), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        make(names[i]);
    CU_ASSERT_EQUAL(accelerators_gpus(root), 3);
}

static void neurons_are_counted_by_their_cores(void) {
    use_root("neuron");
    CU_ASSERT_EQUAL(accelerators_neurons(root), 0);
    make("devices/virtual/neuron_device/neuron0/neuron_core0/stats");
    make("devices/virtual/neuron_device/neuron0/neuron_core1");
    make("devices/virtual/neuron_device/neuron0/stats");
    make("devices/virtual/neuron_device/neuron11/neuron_core0");
    make("devices/virtual/neuron_device/power/neuron_core0");
    CU_ASSERT_EQUAL(accelerators_neurons(root), 3);
}

static void put_text(const char *name, const char *text) {
    char path[4500];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static const char *port_of(const char *interface) {
    static char text[ACCELERATORS_PORT_SIZE];
    accelerators_port(root, interface, text);
    return text;
}

/* Port NUMBER of DEVICE, which has INTERFACE. */
static void make_port(const char *device, unsigned number, const char *layer, const char *state,
                      const char *interface) {
    char path[4500];
    char text[16];
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/%u", device, number);
    make(path);
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/%u/state", device, number);
    put_text(path, state);
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/%u/link_layer", device, number);
    put_text(path, layer);
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/net/%s", device, interface);
    make(path);
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/net/%s/dev_port", device,
             interface);
    snprintf(text, sizeof(text), "%u\n", number - 1);
    put_text(path, text);
}

static void an_adapter_is_known_by_its_driver(void) {
    use_root("efa");
    CU_ASSERT_FALSE(accelerators_efa(root));
    CU_ASSERT_FALSE(accelerators_infiniband(root));
    make("sys/class/infiniband/");
    CU_ASSERT_FALSE(accelerators_infiniband(root));
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    CU_ASSERT_FALSE(accelerators_efa(root));
    CU_ASSERT_TRUE(accelerators_infiniband(root));
    rdma_make(root, "rdmap0s6", "efa", 1);
    CU_ASSERT_TRUE(accelerators_efa(root));
}

/* /sys shows them to every container of the machine. */
static void a_device_without_a_way_to_it_is_another_container_s(void) {
    use_root("apart");
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    rdma_make(root, "rdmap0s6", "efa", 1);
    rdma_remove_way(root, 1);
    CU_ASSERT_FALSE(accelerators_efa(root));
    CU_ASSERT_TRUE(accelerators_infiniband(root));
    rdma_remove_way(root, 0);
    CU_ASSERT_FALSE(accelerators_infiniband(root));
}

static void a_machine_has_the_name_that_its_firmware_gives(void) {
    char name[ACCELERATORS_PRODUCT_SIZE];
    use_root("named");
    accelerators_product(root, name);
    CU_ASSERT_STRING_EQUAL(name, "");
    make("sys/class/dmi/id");
    put_text("sys/class/dmi/id/product_name", "p4d.24xlarge\n");
    accelerators_product(root, name);
    CU_ASSERT_STRING_EQUAL(name, "p4d.24xlarge");
}

static void ucx_needs_a_port_that_is_up_and_a_way_to_it(void) {
    use_root("ucx");
    CU_ASSERT_FALSE(accelerators_ucx(root));
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    CU_ASSERT_FALSE(accelerators_ucx(root));
    make_port("mlx5_0", 1, "Ethernet\n", "1: DOWN\n", "eth1");
    CU_ASSERT_FALSE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth1"), "");
    make_port("mlx5_0", 1, "Ethernet\n", "4: ACTIVE\n", "eth1");
    CU_ASSERT_TRUE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth1"), "mlx5_0:1");
    CU_ASSERT_STRING_EQUAL(port_of("eth"), "");
    CU_ASSERT_STRING_EQUAL(port_of("eth0"), "");
    rdma_remove_way(root, 0);
    CU_ASSERT_FALSE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth1"), "");
    make("dev/infiniband/rdma_cm");
    CU_ASSERT_FALSE(accelerators_ucx(root));
}

/* A container that got one device of two; and one port of two that is up. */
static void a_way_to_another_device_is_none(void) {
    use_root("two");
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    rdma_make(root, "mlx5_1", "mlx5_core", 1);
    make_port("mlx5_0", 1, "Ethernet\n", "4: ACTIVE\n", "eth1");
    make_port("mlx5_1", 1, "Ethernet\n", "1: DOWN\n", "eth2");
    rdma_remove_way(root, 0);
    CU_ASSERT_FALSE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth1"), "");
    make_port("mlx5_1", 2, "Ethernet\n", "4: ACTIVE\n", "eth3");
    CU_ASSERT_TRUE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth2"), "");
    CU_ASSERT_STRING_EQUAL(port_of("eth3"), "mlx5_1:2");
}

/* Open MPI ranks UCX below TCP for all others: a job with both kinds would not start. */
static void open_mpi_takes_ucx_for_some_drivers(void) {
    use_root("drivers");
    rdma_make(root, "bnxt_re0", "bnxt_en", 0);
    make_port("bnxt_re0", 1, "Ethernet\n", "4: ACTIVE\n", "eth0");
    CU_ASSERT_FALSE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth0"), "bnxt_re0:1");
    rdma_make(root, "rocep3s0", "mlx5_core", 1);
    make_port("rocep3s0", 1, "Ethernet\n", "4: ACTIVE\n", "eth1");
    CU_ASSERT_TRUE(accelerators_ucx(root));
}

/* The job's interface may be a slow one beside a fabric that has none. */
static void ethernet_keeps_nobody_from_infiniband(void) {
    use_root("fabric");
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    make_port("mlx5_0", 1, "Ethernet\n", "4: ACTIVE\n", "eth0");
    rdma_make(root, "mlx5_2", "mlx5_core", 2);
    make_port("mlx5_2", 1, "InfiniBand\n", "1: DOWN\n", "ib0");
    CU_ASSERT_STRING_EQUAL(port_of("eth0"), "mlx5_0:1");
    make_port("mlx5_2", 1, "InfiniBand\n", "4: ACTIVE\n", "ib0");
    CU_ASSERT_STRING_EQUAL(port_of("eth0"), "");
    CU_ASSERT_STRING_EQUAL(port_of("ib0"), "mlx5_2:1");
}

/* libfabric's, not UCX's. */
static void an_elastic_fabric_adapter_is_not_for_ucx(void) {
    use_root("ucx_efa");
    rdma_make(root, "rdmap0s6", "efa", 0);
    make_port("rdmap0s6", 1, "Unspecified\n", "4: ACTIVE\n", "eth0");
    CU_ASSERT_FALSE(accelerators_ucx(root));
    CU_ASSERT_STRING_EQUAL(port_of("eth0"), "");
}

UNIT_SUITE("job.accelerators", UNIT(a_way_to_another_device_is_none),
           UNIT(open_mpi_takes_ucx_for_some_drivers), UNIT(ethernet_keeps_nobody_from_infiniband),
           UNIT(ucx_needs_a_port_that_is_up_and_a_way_to_it),
           UNIT(an_elastic_fabric_adapter_is_not_for_ucx), UNIT(gpus_are_counted_by_their_devices),
           UNIT(neurons_are_counted_by_their_cores), UNIT(an_adapter_is_known_by_its_driver),
           UNIT(a_device_without_a_way_to_it_is_another_container_s),
           UNIT(a_machine_has_the_name_that_its_firmware_gives))
