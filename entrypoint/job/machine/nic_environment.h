/* Environment that gives the job's network interface to libraries: NCCL, Gloo and TensorPipe
 * (PyTorch), libfabric over TCP, UCX. Open MPI has its own (openmpi.h).
 *
 * Otherwise each library would choose by its own rules, and hosts with several interfaces would not
 * reach each other. What the job sets itself is kept. */
#ifndef ENTRYPOINT_JOB_MACHINE_NIC_ENVIRONMENT_H
#define ENTRYPOINT_JOB_MACHINE_NIC_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"

enum { NIC_ENVIRONMENT_TEXT_SIZE = 256 };

/* Adds variables to ENVIRONMENT. UCX gets the InfiniBand or RoCE port of the interface if there is
 * one (accelerators.h), and nothing if there are other such devices. ROOT is put before /sys and
 * /dev: "" except in tests. */
int nic_environment_add(const char *interface, const char *root, struct argv *environment,
                        struct error *err);

/* Writes which of them ENVIRONMENT has already, "NCCL_SOCKET_IFNAME=ib0 ...", for the log; "" for
 * none. */
void nic_environment_own(char *const *environment, char text[NIC_ENVIRONMENT_TEXT_SIZE]);

#endif
