/* Hosts by their addresses. Open MPI is told addresses, each host's own on the interface that
 * carries the job, because what it makes of names depends on what the machines call themselves: a
 * dot in the master's kernel name is enough for it not to find itself in a list of short ones.
 * People are told names. */
#ifndef MPI_ADDRESSES_H
#define MPI_ADDRESSES_H

#include "common/buf.h"
#include "common/error.h"
#include "job/cluster.h"

#include <stddef.h>

/* Every host that is not gone has an address, no two have the same, and none is what the master's
 * kernel calls itself, KERNEL_NAME: Open MPI would take that host for the master. An error names
 * the hosts. */
int addresses_check(const struct cluster *c, const char *kernel_name, struct error *err);

/* The index of the host at ADDRESS ("10.0.0.2"), -1 if there is none. */
int addresses_find(const struct cluster *c, const char *address);

/* Appends the SIZE bytes of TEXT with names in place of the hosts' addresses. */
int addresses_to_names(const struct cluster *c, const char *text, size_t size, struct buf *ret,
                       struct error *err);

#endif
