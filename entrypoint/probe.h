/* For `ringmaster plan`: what can be found out about this container without any other host. */
#ifndef ENTRYPOINT_PROBE_H
#define ENTRYPOINT_PROBE_H

#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/wire/control_socket.h"

#include <stdbool.h>

struct probe {
    struct interface interface;
    struct openmpi_request request; /* borrows from the job, from here and from `tools` */
    struct mpi_install tools;
    char self[CONTROL_SOCKET_FILE_SIZE];
    bool complete; /* `request` holds what mpirun would be started with */
};

/* Runs `mpirun --version`. Never fails: what could not be found out leaves it incomplete. */
void probe_run(const struct job *job, char *const *environment, struct probe *ret);
void probe_done(struct probe *p);

#endif
