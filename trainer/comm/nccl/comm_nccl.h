/* Sums over NCCL: a communicator of one GPU a rank, on a high-priority stream of its own. A thread
 * watches for errors that NCCL finds by itself (a peer that went away) and aborts the communicator
 * then, so that no rank hangs in a sum. */
#ifndef COMM_NCCL_COMM_NCCL_H
#define COMM_NCCL_COMM_NCCL_H

#include "comm/comm.h"
#include "comm/device_sum.h"

enum { COMM_NCCL_INIT_SECONDS = 300 };

/* All ranks of COMM together, each with its device current on the calling thread. QUEUE is the
 * backend's stream (backend_device.queue). COMM carries NCCL's id and is not needed afterwards. */
int comm_nccl_open(struct device_sum **ret, struct comm *comm, void *queue, struct error *err);

/* "NCCL 2.28.9" */
const char *comm_nccl_library(void);

#endif
