/* Open descriptors that this host's part of the job needs.
 *
 * They are counted for the worst case, from the numbers of hosts and ranks. What the limit allows
 * beyond that is room for unauthenticated connections at the two listeners. The numbers come from
 * the cluster, which os/ does not know: os/fd_limits.h only sets limits. */
#ifndef ENTRYPOINT_HOST_FD_BUDGET_H
#define ENTRYPOINT_HOST_FD_BUDGET_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>

/* Returns how many descriptors this host's ringmaster and mpirun each need at most, with the fewest
 * pending connections at both listeners. */
uint64_t fd_budget_files(const struct cluster *cluster);

/* Raises the limit of open files to that, plus what pending connections need (os/fd_limits.h), and
 * the limit of locked memory, which RDMA needs in programs, as far as allowed. */
int fd_budget_raise(const struct cluster *cluster, struct error *err);

/* Returns how many connections may be pending at each of the two listeners (listener_set_room). */
size_t fd_budget_pending(const struct cluster *cluster);

#endif
