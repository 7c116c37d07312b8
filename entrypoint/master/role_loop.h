/* A process's part in a job: as its master or as a worker, and where a master is lost and another
 * host follows it (host/role_state.h), as the one or the other once more; where this host was lost,
 * as a worker; a first host that is started anew as the worker of who leads the job, and where that
 * is nobody any more as the master of a new one. */
#ifndef ENTRYPOINT_MASTER_ROLE_LOOP_H
#define ENTRYPOINT_MASTER_ROLE_LOOP_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

/* To the job's end; OPTIONS' succession is filled in here. */
int role_loop_run(struct supervisor_options *options, int *ret_code, struct error *err);

#endif
