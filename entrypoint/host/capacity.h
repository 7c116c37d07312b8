/* How many open descriptors this host's part of the job takes, and how many strangers may stand at
 * its doors so that the job finds its own. */
#ifndef ENTRYPOINT_HOST_CAPACITY_H
#define ENTRYPOINT_HOST_CAPACITY_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>

/* What this host's ringmaster and mpirun need at most, each for itself, with the fewest guests at
 * both doors. */
uint64_t capacity_files(const struct cluster *cluster);

/* Raises the limit of open files to that and what guests like to have (os/fd_limits.h), and that of
 * locked memory, which RDMA wants for programs, as far as it may be. */
int capacity_raise(const struct cluster *cluster, struct error *err);

/* How many guests each of the two doors may have (listener_set_room). */
size_t capacity_guests(const struct cluster *cluster);

#endif
