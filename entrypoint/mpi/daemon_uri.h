/* The address of mpirun in a launch request:
 *
 *     JOB.0;tcp://IP[,IP]:PORT[,PORT]               Open MPI 4.1
 *     JOB.0;tcp://IP[,IP]:PORT[,PORT]:BITS[,BITS]   Open MPI 5.0
 *
 * or tcp6://[IP,IP]:... where the interface has IPv6 alone; where it has both, the latter follows
 * the former after a ';'. Only the address of the master's family is checked. */
#ifndef ENTRYPOINT_MPI_DAEMON_URI_H
#define ENTRYPOINT_MPI_DAEMON_URI_H

#include "common/error.h"
#include "common/net_address.h"

#include <stdint.h>

/* Refuses a URI of another job than JOB, and one that does not name MASTER and PORT. RET_BITS,
 * which is NULL on 4.1, becomes the bits of that address's network mask. */
int daemon_uri_check(const char *uri, const char *job, const struct net_address *master,
                     uint16_t port, unsigned *ret_bits, struct error *err);

#endif
