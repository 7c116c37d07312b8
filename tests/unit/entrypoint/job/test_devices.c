#include "common/file.h"
#include "job/devices.h"
#include "support/unit.h"

#include <stdio.h>
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
    CU_ASSERT_EQUAL(devices_gpus(root), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        make(names[i]);
    CU_ASSERT_EQUAL(devices_gpus(root), 3);
}

static void neurons_are_counted_by_their_cores(void) {
    use_root("neuron");
    CU_ASSERT_EQUAL(devices_neurons(root), 0);
    make("devices/virtual/neuron_device/neuron0/neuron_core0/stats");
    make("devices/virtual/neuron_device/neuron0/neuron_core1");
    make("devices/virtual/neuron_device/neuron0/stats");
    make("devices/virtual/neuron_device/neuron11/neuron_core0");
    make("devices/virtual/neuron_device/power/neuron_core0");
    CU_ASSERT_EQUAL(devices_neurons(root), 3);
}

static void an_adapter_is_known_by_its_driver(void) {
    char link[4500];
    use_root("efa");
    CU_ASSERT_FALSE(devices_efa(root));
    CU_ASSERT_FALSE(devices_infiniband(root));
    make("class/infiniband/");
    CU_ASSERT_FALSE(devices_infiniband(root));
    make("class/infiniband/mlx5_0/device");
    snprintf(link, sizeof(link), "%s/class/infiniband/mlx5_0/device/driver", root);
    CU_ASSERT_EQUAL(symlink("../../../../bus/pci/drivers/mlx5_core", link), 0);
    CU_ASSERT_FALSE(devices_efa(root));
    CU_ASSERT_TRUE(devices_infiniband(root));
    make("class/infiniband/rdmap0s6/device");
    snprintf(link, sizeof(link), "%s/class/infiniband/rdmap0s6/device/driver", root);
    CU_ASSERT_EQUAL(symlink("../../../../bus/pci/drivers/efa", link), 0);
    CU_ASSERT_TRUE(devices_efa(root));
}

UNIT_MAIN("job.devices", UNIT(gpus_are_counted_by_their_devices),
          UNIT(neurons_are_counted_by_their_cores), UNIT(an_adapter_is_known_by_its_driver))
