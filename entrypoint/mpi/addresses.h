/* Addresses of hosts, as Open MPI is given them: each host's own on the interface of the job.
 *
 * Names would depend on what the machines call themselves: a dot in the master's kernel name is
 * enough for it not to find itself in a list of short names. Messages to people use names.
 *
 * A host with an IPv6 address gets a stand-in, as colons have another meaning in Open MPI's lists:
 * 240.0.X.Y (RFC 1112, section 4: reserved, so no host has it) with its number in the job, and the
 * master the loopback address, by which mpirun knows itself. Nothing is ever sent there: daemons
 * find each other by the addresses that they report. */
#ifndef ENTRYPOINT_MPI_ADDRESSES_H
#define ENTRYPOINT_MPI_ADDRESSES_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stddef.h>

/* Checks that every host that is not lost has an address, that all are of one family and distinct,
 * and that none is the master's kernel name, KERNEL_NAME: Open MPI would take that host for the
 * master. An error names the hosts. */
int addresses_check(const struct cluster *c, const char *kernel_name, struct error *err);

enum { ADDRESSES_NODE_SIZE = NET_ADDRESS_TEXT };

/* Writes the address of host INDEX for Open MPI. */
void addresses_node(const struct cluster *c, size_t index, char ret[ADDRESSES_NODE_SIZE]);

/* Returns the host that Open MPI knows as ADDRESS ("10.0.0.2"), -1 if there is none. */
int addresses_find(const struct cluster *c, const char *address);

/* Appends SIZE bytes of TEXT with host names in place of addresses. */
int addresses_to_names(const struct cluster *c, const char *text, size_t size, struct buf *ret,
                       struct error *err);

#endif
