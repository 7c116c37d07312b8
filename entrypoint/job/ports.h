/* TCP ports of a job, all relative to RINGMASTER_PORT.
 *
 * One variable moves them all, and a firewall rule can name them. */
#ifndef ENTRYPOINT_JOB_PORTS_H
#define ENTRYPOINT_JOB_PORTS_H

#include "common/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Each rank needs one port, but a port of an earlier job stays closed to Open MPI for a minute
 * (TIME_WAIT), so there are as many as several launches use in that time. */
enum {
    PORTS_LOWEST = 1024,
    PORTS_DEFAULT = 7070,
    PORTS_DATA_OFFSET = 16,
    PORTS_DATA_PER_SLOT = 8,
    PORTS_DATA_LEAST = 64,
};

struct ports {
    uint16_t control;     /* +0: our link */
    uint16_t daemons_v4;  /* +1: mpirun and its daemons */
    uint16_t daemons_v6;  /* +2 */
    uint16_t master;      /* +3: MASTER_PORT, for the program's own use */
    uint16_t passing;     /* +4: sharing of downloads */
    uint16_t coordinator; /* +5: JAX_COORDINATOR_ADDRESS, for the program's own use */
    uint16_t data;        /* +16: first port of MPI messages */
    uint16_t data_count;  /* 8 per slot, at least 64 */
    uint16_t data_needed; /* of them, for one launch */
};

/* MOST_SLOTS is the largest number of slots of any host. It is an error if the last port is beyond
 * 65535. */
int ports_plan(int64_t port, unsigned most_slots, struct ports *ret, struct error *err);

/* Tries to bind PORT on every address for a moment. The error names the port, its purpose (WHAT:
 * "the control link") and RINGMASTER_PORT. */
int port_check_free(uint16_t port, const char *what, struct error *err);
/* Likewise for MASTER_PORT and, with MPI, the daemons' ports and as many data ports as one launch
 * needs. The control link's port is tested by listening on it, which only the master does. */
int ports_check_free(const struct ports *ports, bool mpi, struct error *err);

#endif
