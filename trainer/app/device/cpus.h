/* The cores that this rank may use, and how many threads to run on them. The least of the affinity
 * mask and the cgroup's CPU quota counts, divided among the ranks that share them; hosts that are
 * containers on one machine share them too, which the launcher cannot see. */
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

/* Asks the system, then the other ranks. */
int cpus_find(struct cpus *cpus, struct comm *comm, struct error *err);

/* Compute threads for one rank: its share, less one for communication from 4 up when there are
 * other ranks. At least 1. */
int cpus_threads(const struct cpus *cpus, int ranks, int local_ranks);

#endif
