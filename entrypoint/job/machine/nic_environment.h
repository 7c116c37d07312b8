/* The one network interface of the job, in the words of the libraries that programs talk with:
 * NCCL, Gloo and TensorPipe (PyTorch), libfabric over TCP, UCX. Open MPI has its own (openmpi.h).
 * Left to themselves each would choose by rules of its own, and hosts with several interfaces would
 * not meet. What the job sets itself stays. */
#ifndef ENTRYPOINT_JOB_MACHINE_NIC_ENVIRONMENT_H
#define ENTRYPOINT_JOB_MACHINE_NIC_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"

enum { NIC_ENVIRONMENT_TEXT_SIZE = 256 };

/* Adds variables to ENVIRONMENT. UCX is told of the InfiniBand or RoCE port that has the interface
 * where there is one (accelerators.h), and of nothing where there are other such devices. ROOT is
 * put in front of /sys and /dev: "" but in tests. */
int nic_environment_add(const char *interface, const char *root, struct argv *environment,
                        struct error *err);

/* Which of them ENVIRONMENT has already, "NCCL_SOCKET_IFNAME=ib0 ...", for the log; "" for none. */
void nic_environment_own(char *const *environment, char text[NIC_ENVIRONMENT_TEXT_SIZE]);

#endif
