/* Remote-launch agent for mpirun's daemons: mpirun runs it as `AGENT HOST WORDS...` in place of
 * ssh.
 *
 * It passes host and words to its supervisor, which has that host's supervisor start the requested
 * daemon, and stays for as long as the daemon runs. It exits with the daemon's code, or with
 * EXIT_CODE_HOST_LOST if the host is lost, which ends mpirun.
 *
 *   agent to supervisor: agent host command attempt      supervisor to agent: leave code */
#ifndef ENTRYPOINT_MPI_AGENT_H
#define ENTRYPOINT_MPI_AGENT_H

#include "common/error.h"

/* WORDS are HOST WORDS..., ENVIRONMENT is that of mpirun, with RINGMASTER_SOCKET and
 * RINGMASTER_ATTEMPT. */
int agent_run(const char *const *words, char *const *environment, int *ret_code, struct error *err);

#endif
