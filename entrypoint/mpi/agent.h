/* The remote-launch agent: mpirun calls it as `AGENT HOST WORDS...` where it would call ssh. It
 * hands host and words to its supervisor, which has the host's own supervisor start the daemon
 * they ask for, and stays for as long as that daemon runs; its code is then the daemon's, or
 * EXIT_CODE_HOST_LOST when the host is lost, which ends mpirun.
 *
 *   agent to supervisor: agent host command attempt      supervisor to agent: leave code */
#ifndef ENTRYPOINT_MPI_AGENT_H
#define ENTRYPOINT_MPI_AGENT_H

#include "common/error.h"

/* WORDS are HOST WORDS..., ENVIRONMENT the one that mpirun started us in, with RINGMASTER_SOCKET
 * and RINGMASTER_ATTEMPT. */
int agent_run(const char *const *words, char *const *environment, int *ret_code, struct error *err);

#endif
