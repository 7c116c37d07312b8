/* CPU cores near a PCI device. The kernel reports them in sysfs, whatever the kind of device. */
#ifndef TRAINER_APP_DEVICE_LOCALITY_H
#define TRAINER_APP_DEVICE_LOCALITY_H

#include "common/error.h"

#include <sched.h>

#define LOCALITY_SYSFS "/sys"

enum { LOCALITY_CORES = 8192 };

struct locality {
    int node;        /* NUMA node; -1: unknown to the kernel */
    cpu_set_t *near; /* owned; cores near the device, of LOCALITY_CORES; never empty */
    size_t size;     /* size of the set, in bytes */
};

void locality_done(struct locality *l);

/* Reads ROOT/bus/pci/devices/ADDRESS/numa_node and local_cpulist; ROOT is LOCALITY_SYSFS except in
 * tests. ADDRESS in any case: "0000:0A:00.0". */
int locality_read(struct locality *l, const char *root, const char *address, struct error *err);

/* Parses a list of cores in the kernel's form, "0-3,8,10-11", into SET of LOCALITY_CORES. Returns
 * -1 for any other text and for an empty list. */
int locality_parse(const char *list, cpu_set_t *set, size_t size);

#define cleanup_locality __attribute__((cleanup(locality_done)))

#endif
