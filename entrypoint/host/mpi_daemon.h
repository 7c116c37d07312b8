/* Open MPI's daemon on this host, started on the master's order `launch`.
 *
 * mpirun asks its remote-launch agent for one daemon on each host, by a command line that the
 * master passes on. What is started is checked against the command that this host itself expects
 * (mpi/daemon_command.h), because a launcher that ran any command would be a remote shell. Session
 * directories and environment are those of mpirun on the master's host, too. */
#ifndef ENTRYPOINT_HOST_MPI_DAEMON_H
#define ENTRYPOINT_HOST_MPI_DAEMON_H

#include "common/argv.h"
#include "common/net_address.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/mpi/session_dirs.h"
#include "entrypoint/os/subprocess.h"
#include "entrypoint/wire/control_socket.h"

/* All pointers outlive it. */
struct mpi_daemon {
    const struct services *services;
    const char *run; /* the run ID */
    const struct rank_set *rank_set;
    const struct interface *interface;
    const struct net_address *master;
    void (*line)(void *context, const char *line, size_t size);
    void (*ended)(void *context, int code);
    void *context;
    struct session_dirs session_dirs; /* of this attempt, and of mpirun */
    struct subprocess task;
};

/* Starts the daemon if COMMAND is the one that this host expects. Creates the session directories.
 */
int mpi_daemon_start(struct mpi_daemon *d, const char *command, struct error *err);
/* Kills it, after a failure: it would spend seconds on ranks that are gone. D may be zeroed. */
void mpi_daemon_kill(struct mpi_daemon *d);
/* Nothing of it is reported any more. D may be zeroed. */
void mpi_daemon_drop(struct mpi_daemon *d);

/* Call it before a program of Open MPI starts: creates the session directories of this attempt. */
int mpi_daemon_open_scratch(struct mpi_daemon *d, struct error *err);
/* Removes them. D may be zeroed. */
void mpi_daemon_close_scratch(struct mpi_daemon *d);
/* Returns the environment of mpirun and its daemon on this host. */
int mpi_daemon_environment(const struct mpi_daemon *d, struct argv *ret, struct error *err);

/* Fills in the request for the command lines of mpirun and its daemon on this host. AGENT is filled
 * with the agent's path and must outlive the request. */
void mpi_daemon_request(const struct mpi_daemon *d, char agent[CONTROL_SOCKET_FILE_SIZE],
                        struct openmpi_request *ret);

#endif
