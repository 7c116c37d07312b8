/* Communicator of ranks over TCP. It needs no library and no launcher of its own. Any launcher will
 * do that tells each rank its number, how many there are, and where rank 0 is. Sums are added in
 * the order of the ranks, so that they have the same bits in every run. */
#ifndef TRAINER_COMM_TCP_COMM_TCP_H
#define TRAINER_COMM_TCP_COMM_TCP_H

#include "trainer/comm/comm.h"
#include "trainer/comm/tcp/mesh_open.h"

struct comm_tcp_plan {
    struct mesh_plan mesh; /* its address is copied */
    int local_rank;
    int local_size;
};

/* Collective. Waits until all ranks are there, at most COMM_OPEN_SECONDS. */
int comm_tcp_open(struct comm **ret, const struct comm_tcp_plan *plan, struct error *err);

#endif
