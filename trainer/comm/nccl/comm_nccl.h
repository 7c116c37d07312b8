/* All-reduce over NCCL, with one GPU per rank. The sums run on a high-priority stream of their own.
 *
 * The communicator is nonblocking, watched by a thread (guard.h), and aborted if a peer is gone, so
 * that no rank hangs in a sum. Summed memory is allocated by NCCL and registered with the
 * communicator, so that sums may avoid copies; but not as a symmetric window, as its kernels cannot
 * be aborted. If registration fails, sums work all the same. NCCL_WIN_ENABLE=0 and
 * NCCL_LOCAL_REGISTER=0 turn it off.
 *
 * With a nonblocking communicator a thread of NCCL's puts a sum on its stream, also in a recording.
 * NCCL does not document that this works, so it is tested at the start: a sum of one number is
 * recorded and discarded. If on any rank recording fails or the recording is empty, all ranks open
 * the communicator anew and no step is recorded (device_sum.unrecorded): slower by the host's
 * launch overhead. A blocking communicator could be recorded, but not aborted in time when a peer
 * does not come. */
#ifndef TRAINER_COMM_NCCL_COMM_NCCL_H
#define TRAINER_COMM_NCCL_COMM_NCCL_H

#include "trainer/comm/comm.h"
#include "trainer/comm/device_sum.h"

enum { COMM_NCCL_INIT_SECONDS = 300, COMM_NCCL_FINISH_SECONDS = 60, COMM_NCCL_ABORT_SECONDS = 10 };

/* A rank's GPU, as comm_nccl_open gathers it from all ranks. */
struct nccl_peer {
    unsigned char uuid[16]; /* globally unique id of the GPU */
    char address[16];       /* "0000:0a:00.0" */
    char host[64];
};

/* Allocates memory on the current device that can be registered, not cleared. NULL on failure. */
void *comm_nccl_alloc(size_t bytes, struct error *err);
void comm_nccl_free(void *memory);

/* Collective, with each rank's device current on the calling thread. Two ranks on one GPU are an
 * error on all ranks. MEMORY, of comm_nccl_alloc, must contain everything that will be summed and
 * outlive the sums; NULL: nothing is registered. COMM carries NCCL's id and is not needed
 * afterwards. */
int comm_nccl_open(struct device_sum **ret, struct comm *comm, void *memory, size_t bytes,
                   struct error *err);

/* Returns "NCCL 2.28.9": the version this build was made with, and the one loaded. */
const char *comm_nccl_text(void);
const char *comm_nccl_loaded(void);

#endif
