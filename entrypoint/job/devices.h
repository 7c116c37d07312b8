/* How many accelerators this host has, for slots and SM_*. Counted where the kernel shows them: no
 * tool of the vendor's has to be in the image. */
#ifndef JOB_DEVICES_H
#define JOB_DEVICES_H

#include <stdbool.h>

/* Devices called nvidia0, nvidia1 ... in DEV ("/dev"). */
unsigned devices_gpus(const char *dev);

/* Cores of AWS Neuron devices below SYSFS ("/sys"): neuron_core0 ... of every
 * devices/virtual/neuron_device/neuron0 ... (Neuron Sysfs User Guide). */
unsigned devices_neurons(const char *sysfs);

/* Whether SYSFS/class/infiniband has a device of any kind. */
bool devices_infiniband(const char *sysfs);

/* Whether an Elastic Fabric Adapter is there: a device of the driver "efa" in
 * SYSFS/class/infiniband. */
bool devices_efa(const char *sysfs);

#endif
