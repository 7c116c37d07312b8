/* Launch of ranks by mpirun: mpirun itself, its remote-launch agents and its daemons. Raises
 * MPIRUN_ENDED, and FAILURE for a daemon. */
#ifndef ENTRYPOINT_MASTER_LAUNCH_MPIRUN_H
#define ENTRYPOINT_MASTER_LAUNCH_MPIRUN_H

#include "entrypoint/master/state/state.h"

/* Handles a remote-launch agent, from mpirun or anything else; takes over the link. */
void launch_agent(struct master *m, struct link *link, const json_t *message);
/* Lets the agent of a host leave with CODE. */
void launch_agent_leave(struct member *b, int code);
void launch_daemon_ended(struct member *b, const json_t *message);
/* Appends mpirun's first and last output, with names of hosts in place of addresses. */
void launch_words(const struct master *m, struct buf *ret);
/* Appends what mpirun said about an MPI error of the program, likewise; nothing if there was none.
 */
void launch_mpi_error_text(const struct master *m, struct buf *ret);

#endif
