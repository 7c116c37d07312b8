/* Number of accelerators of this host, for slots and SM_*.
 *
 * They are counted where the kernel shows them: the image needs no vendor tool. */
#ifndef ENTRYPOINT_JOB_MACHINE_ACCELERATORS_H
#define ENTRYPOINT_JOB_MACHINE_ACCELERATORS_H

#include <stdbool.h>

/* Returns the number of devices nvidia0, nvidia1 ... in DEV ("/dev"). */
unsigned accelerators_gpus(const char *dev);

/* Returns the number of cores of AWS Neuron devices below SYSFS ("/sys"): neuron_core0 ... of every
 * devices/virtual/neuron_device/neuron0 ... (Neuron Sysfs User Guide). */
unsigned accelerators_neurons(const char *sysfs);

/* /sys shows a machine's devices to all of its containers: only those count that this container can
 * open, their uverbs0 ... in ROOT/dev/infiniband. ROOT: "" except in tests.
 *
 * Returns true if ROOT/sys/class/infiniband has a device of any kind. */
bool accelerators_infiniband(const char *root);

/* Returns true if it has an Elastic Fabric Adapter: a device of the driver "efa". */
bool accelerators_efa(const char *root);

/* Writes the machine's product name from the firmware, on EC2 its type: "p4d.24xlarge"; "" if there
 * is none. */
enum { ACCELERATORS_PRODUCT_SIZE = 64 };
void accelerators_product(const char *root, char ret[ACCELERATORS_PRODUCT_SIZE]);

/* Returns true if Open MPI would choose UCX for an InfiniBand or RoCE device of this container: a
 * port that is up in ROOT/sys, access to the device, its uverbs0 ... in ROOT/dev/infiniband, and a
 * driver mlx*, as "pml_ucx_devices" has it by default. ROOT: "" except in tests. */
bool accelerators_ucx(const char *root);

/* Writes the active and accessible port of such a device, of any driver but "efa", that has the
 * network interface INTERFACE, in UCX's notation: "mlx5_0:1". "" if none has, and if it is an
 * Ethernet port beside InfiniBand ports, from which UCX would be kept. */
enum { ACCELERATORS_PORT_SIZE = 64 };
void accelerators_port(const char *root, const char *interface, char ret[ACCELERATORS_PORT_SIZE]);

#endif
