/* CPU cores available to this rank. The lower of the affinity mask and the cgroup's CPU quota,
 * divided among the ranks that share the cores. Hosts may be containers on one machine and share
 * them too, which the launcher cannot see. */
#ifndef TRAINER_APP_DEVICE_CPUS_H
#define TRAINER_APP_DEVICE_CPUS_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdint.h>

struct cpus {
    int affinity; /* cores in the affinity mask */
    int quota;    /* whole cores of the cgroup's quota, at least 1; 0: no quota */
    int sharers;  /* ranks of the job with the same cores, this one included */
};

/* Collective. Asks the system, then the other ranks. */
int cpus_find(struct cpus *cpus, struct comm *comm, struct error *err);

/* Returns the number of compute threads for one rank, at least 1: its share of the cores; from 4
 * cores up one less, for communication, if there are other ranks. */
int cpus_threads(const struct cpus *cpus, int ranks, int local_ranks);

#endif
