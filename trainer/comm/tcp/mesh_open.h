/* Opening of the mesh of TCP connections between a job's ranks.
 *
 * Rank 0 listens at an address that all ranks know. The others connect to it and say their rank and
 * on which port they listen themselves, on the address by which they reach rank 0. Once all are
 * there rank 0 sends everyone the list, and each rank connects to those below it. A connection that
 * does not begin with this job's greeting is closed and not counted, so that strangers do not
 * disturb the job; nothing is encrypted, as with MPI's own traffic. */
#ifndef TRAINER_COMM_TCP_MESH_OPEN_H
#define TRAINER_COMM_TCP_MESH_OPEN_H

#include "common/error.h"
#include "trainer/comm/tcp/mesh.h"

#include <stdint.h>

enum { MESH_JOB_SIZE = 64 };

struct mesh_plan {
    int rank;
    int size;
    const char *address; /* name or address of rank 0 */
    uint16_t port;
    char job[MESH_JOB_SIZE]; /* the same text on all ranks; distinguishes jobs and attempts */
};

/* Collective. Connects all ranks until DEADLINE (clock.h); blocks. Fails with EXIT_CODE_NOT_READY,
 * naming ranks that have not come, with EXIT_CODE_CONFIG if the ranks' plans do not fit together.
 * MESH is zeroed on failure. */
int mesh_open(struct mesh *mesh, const struct mesh_plan *plan, int64_t deadline, struct error *err);

#endif
