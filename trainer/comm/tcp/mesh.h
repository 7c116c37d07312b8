/* Full mesh of TCP connections between ranks. They are all ranks of a job, or some of them.
 * mesh_open.h makes it. */
#ifndef TRAINER_COMM_TCP_MESH_H
#define TRAINER_COMM_TCP_MESH_H

#include "common/error.h"
#include "common/net_address.h"

#include <stdbool.h>
#include <stdint.h>

enum { MESH_RANKS_MAX = 512 }; /* each holds a descriptor and a buffer for every other one */

struct mesh_peer {
    int fd; /* -1 for the rank itself */
    struct net_address address;
};

struct mesh {
    int rank;
    int size;
    struct mesh_peer *peers; /* owned; one a rank */
    bool borrows;            /* the descriptors, from the mesh that it is part of */
};

/* Closes the connections, unless they are borrowed. */
void mesh_done(struct mesh *mesh);

/* The ranks of WHOLE that have the entry of this rank in GROUPS, in their order, over the same
 * connections; WHOLE has to outlive it. */
int mesh_part(struct mesh *mesh, const struct mesh *whole, const int32_t *groups,
              struct error *err);

/* How many of the ranks before RANK have the same address as this one, and so share its host. */
int mesh_neighbours_before(const struct mesh *mesh, int rank);

/* "rank 3 at 10.0.0.3"; the text is overwritten by the next call on this thread. */
const char *mesh_peer_text(const struct mesh *mesh, int rank);

#endif
