/* Setup of a host's launch.
 *
 * It chooses the launcher (job/launcher.h), waits for the ports that it needs, and finds Open MPI's
 * programs if that is mpirun. A single rank needs none of it. It also keeps the link to this
 * program that mpirun runs as its remote-launch agent (mpi/agent.h). */
#ifndef ENTRYPOINT_HOST_MPI_SETUP_H
#define ENTRYPOINT_HOST_MPI_SETUP_H

#include "common/argv.h"
#include "entrypoint/host/port_wait.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/control_socket.h"

struct mpi_setup {
    const struct services *services;
    void (*done)(void *context, const struct error *failure); /* NULL: success */
    void *context;
    struct port_wait port_wait;
    struct argv environment; /* of mpirun --version */
    struct timer soon;
    struct error failure;
};

/* Chooses JOB's launcher, by its program and the PATH in ENVIRONMENT. */
int mpi_setup_choose(struct job *job, char *const *environment, struct error *err);

/* Starts. DONE is called once, from the loop. The job's launcher is set, and mpi_install of
 * SERVICES is filled in, which the caller frees. */
void mpi_setup_start(struct mpi_setup *e, const struct services *services,
                     void (*done)(void *context, const struct error *failure), void *context);
/* Stops waiting for ports: nothing is to start any more. E may be zeroed. */
void mpi_setup_drop(struct mpi_setup *e);
void mpi_setup_close(struct mpi_setup *e);

/* Makes a link to this program beside the control socket, under the name "agent". mpirun can only
 * run its agent by one path without arguments, so that path is a link to this program, which
 * recognises the link's name. */
int mpi_setup_link_agent(const struct control_socket *local, struct error *err);
/* Creates the socket's folder and the link again if a program has removed them: every attempt needs
 * them. */
int mpi_setup_renew_agent(struct control_socket *local, struct error *err);

#endif
