/* Hosts by their addresses. Open MPI is told addresses, each host's own on the interface that
 * carries the job, because what it makes of names depends on what the machines call themselves: a
 * dot in the master's kernel name is enough for it not to find itself in a list of short ones.
 * People are told names.
 *
 * A host with an IPv6 address has a stand-in for it, as colons have another meaning in Open MPI's
 * lists: 240.0.X.Y (RFC 1112, section 4: reserved, no host has it), its number in the job, and the
 * master the loopback's, by which mpirun knows itself. Nothing is ever sent there: daemons find one
 * another by the addresses that they tell. */
#ifndef ENTRYPOINT_MPI_ADDRESSES_H
#define ENTRYPOINT_MPI_ADDRESSES_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>

/* Every host that is not gone has an address, all of one family, no two have the same, and none is
 * what the master's kernel calls itself, KERNEL_NAME: Open MPI would take that host for the master.
 * An error names the hosts. */
int addresses_check(const struct cluster *c, const char *kernel_name, struct error *err);

enum { ADDRESSES_NODE_SIZE = NET_ADDRESS_TEXT };

/* What Open MPI is told host INDEX is. */
void addresses_node(const struct cluster *c, size_t index, char ret[ADDRESSES_NODE_SIZE]);

/* The index of the host that Open MPI knows as ADDRESS ("10.0.0.2"), -1 if there is none. */
int addresses_find(const struct cluster *c, const char *address);

/* Appends the SIZE bytes of TEXT with names in place of the hosts' addresses. */
int addresses_to_names(const struct cluster *c, const char *text, size_t size, struct buf *ret,
                       struct error *err);

#endif
