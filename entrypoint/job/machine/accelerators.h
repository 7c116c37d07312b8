/* How many accelerators this host has, for slots and SM_*. Counted where the kernel shows them: no
 * tool of the vendor's has to be in the image. */
#ifndef ENTRYPOINT_JOB_MACHINE_ACCELERATORS_H
#define ENTRYPOINT_JOB_MACHINE_ACCELERATORS_H

#include <stdbool.h>

/* Devices called nvidia0, nvidia1 ... in DEV ("/dev"). */
unsigned accelerators_gpus(const char *dev);

/* Cores of AWS Neuron devices below SYSFS ("/sys"): neuron_core0 ... of every
 * devices/virtual/neuron_device/neuron0 ... (Neuron Sysfs User Guide). */
unsigned accelerators_neurons(const char *sysfs);

/* /sys shows a machine's devices to all of its containers: here count those alone that this one has
 * a way to, their uverbs0 ... in ROOT/dev/infiniband. ROOT: "" but in tests.
 *
 * Whether ROOT/sys/class/infiniband has a device of any kind. */
bool accelerators_infiniband(const char *root);

/* Whether it has an Elastic Fabric Adapter: a device of the driver "efa". */
bool accelerators_efa(const char *root);

/* What the firmware calls this machine, on EC2 its type: "p4d.24xlarge"; "" where it says nothing.
 */
enum { ACCELERATORS_PRODUCT_SIZE = 64 };
void accelerators_product(const char *root, char ret[ACCELERATORS_PRODUCT_SIZE]);

/* Whether Open MPI, left the choice, takes UCX for an InfiniBand or RoCE device of this
 * container's: a port that is up in ROOT/sys, a way to it, the device's uverbs0 ... in
 * ROOT/dev/infiniband, and a driver called mlx*, as "pml_ucx_devices" says where nobody has set it.
 * ROOT: "" but in tests. */
bool accelerators_ucx(const char *root);

/* The port that is up, within reach, of such a device of any driver but "efa", and has the network
 * interface INTERFACE, as UCX calls it: "mlx5_0:1". "" where none has, and where it is Ethernet's
 * beside InfiniBand's: UCX would be kept from those. */
enum { ACCELERATORS_PORT_SIZE = 64 };
void accelerators_port(const char *root, const char *interface, char ret[ACCELERATORS_PORT_SIZE]);

#endif
