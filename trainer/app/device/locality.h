/* Which cores lie beside a PCI device, as the kernel tells in sysfs. Nothing here knows what kind
 * of device it is. */
#ifndef TRAINER_APP_DEVICE_LOCALITY_H
#define TRAINER_APP_DEVICE_LOCALITY_H

#include "common/error.h"

#include <sched.h>

#define LOCALITY_SYSFS "/sys"

enum { LOCALITY_CORES = 8192 };

struct locality {
    int node;        /* NUMA node; -1: the kernel does not know */
    cpu_set_t *near; /* owned; cores beside the device, of LOCALITY_CORES; never empty */
    size_t size;     /* of the set, in bytes */
};

void locality_done(struct locality *l);

/* Reads ROOT/bus/pci/devices/ADDRESS/numa_node and local_cpulist, ROOT being LOCALITY_SYSFS but in
 * tests. ADDRESS in any case: "0000:0A:00.0". */
int locality_read(struct locality *l, const char *root, const char *address, struct error *err);

/* A list of cores as the kernel writes it, "0-3,8,10-11", into SET of LOCALITY_CORES. -1 for text
 * of another form, and for none at all. */
int locality_parse(const char *list, cpu_set_t *set, size_t size);

#define cleanup_locality __attribute__((cleanup(locality_done)))

#endif
