/* Probe of this container for `ringmaster plan`.
 *
 * It finds out what it can without any other host. */
#ifndef ENTRYPOINT_COMMAND_PROBE_H
#define ENTRYPOINT_COMMAND_PROBE_H

#include "entrypoint/job/job.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/wire/control_socket.h"

#include <stdbool.h>

struct probe {
    struct interface interface;
    struct openmpi_request request; /* borrows from the job, from here and from `mpi_install` */
    struct mpi_install mpi_install;
    char self[CONTROL_SOCKET_FILE_SIZE];
    bool complete; /* `request` holds what mpirun would be started with, if it would be */
};

/* Checks the settings that a job would check as it begins: the user and the key. One that would end
 * the job is an error of the same code; the lack of a key or of an mpirun becomes one of the job's
 * warnings, as the plan may be made elsewhere. Chooses the job's launcher, and the user for the
 * whole process (run_as.h). */
int probe_settings(struct job *job, char *const *environment, struct error *err);

/* Runs `mpirun --version`, unless ranks are started without it. Never fails: what could not be
 * found out leaves it incomplete. An interface that is not here becomes one of the job's warnings.
 */
void probe_run(struct job *job, char *const *environment, struct probe *ret);
void probe_done(struct probe *p);

#endif
