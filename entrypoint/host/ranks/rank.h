/* Shim of a rank, `ringmaster rank`: mpirun, or its supervisor itself, starts one on every slot. It
 * tells its supervisor that it is there and hands it the reading ends of the program's output,
 * starts the program in a process group of its own on request, passes signals and stop requests
 * on, and reports how the program ended. It leaves, with the program's code, when the supervisor
 * has let it go or after a second: mpirun begins to end the other ranks only then.
 *
 *   shim to supervisor          supervisor to shim
 *   hello rank pid              start directory master_addr master_port direct (+ 1 fd, what
 *    (+ 2 fds, 3 with progress)       the program is started with: launch_spec.h)
 *   teardown                    stop      SIGTERM to the program; stay until let go
 *   report                      end       SIGTERM to the program, as mpirun's would be
 *                               kill      SIGKILL to the program
 *                               leave */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_H
#define ENTRYPOINT_HOST_RANKS_RANK_H

#include "common/error.h"

/* ENVIRONMENT is this process's. *RET_CODE is what to leave with. */
int rank_run(char *const *environment, int *ret_code, struct error *err);

#endif
