/* Sums over NCCL: a communicator of one GPU a rank, on a high-priority stream of its own. It is
 * opened without blocking, watched by a thread (guard.h), and aborted where a peer is gone, so that
 * no rank hangs in a sum. What is summed lies in NCCL's own kind of memory, registered with the
 * communicator, so that sums may do without copies; but not as a symmetric window, whose kernels
 * cannot be aborted. Where it cannot register, it sums all the same. NCCL_WIN_ENABLE=0 and
 * NCCL_LOCAL_REGISTER=0 switch that off.
 *
 * A sum that does not block is put on its stream by a thread of NCCL's, also into a recording. NCCL
 * says nowhere that this holds, so it is tried at the start: a sum of one number is recorded and
 * thrown away. Where on any rank recording fails or the recording is empty, all ranks open the
 * communicator anew and no step is recorded (device_sum.unrecorded): slower by what its launches
 * cost the host. A communicator that blocks could be recorded, but not be given up in time when a
 * peer does not come. */
#ifndef TRAINER_COMM_NCCL_COMM_NCCL_H
#define TRAINER_COMM_NCCL_COMM_NCCL_H

#include "trainer/comm/comm.h"
#include "trainer/comm/device_sum.h"

enum { COMM_NCCL_INIT_SECONDS = 300, COMM_NCCL_FINISH_SECONDS = 60, COMM_NCCL_ABORT_SECONDS = 10 };

/* Memory on the current device that can be registered. What comm_nccl_alloc gives is not cleared;
 * NULL on failure. */
void *comm_nccl_alloc(size_t bytes, struct error *err);
void comm_nccl_free(void *memory);

/* All ranks of COMM together, each with its device current on the calling thread; two ranks on one
 * GPU are an error of all of them. MEMORY, of comm_nccl_alloc, holds everything that will be
 * summed, and has to outlive the sums; NULL: nothing is registered. COMM carries NCCL's id and is
 * not needed afterwards. */
int comm_nccl_open(struct device_sum **ret, struct comm *comm, void *memory, size_t bytes,
                   struct error *err);

/* "NCCL 2.28.9": what this build was made with, and what is loaded. */
const char *comm_nccl_text(void);
const char *comm_nccl_loaded(void);

#endif
