/* Main loop over the roles of this process: master or worker.
 *
 * After a failover the role may change: the loop tears the old role down and starts the new one in
 * the same process (host/failover/role_state.h). A host that was lost becomes a worker. A restarted
 * first host becomes a worker of the host that leads the job, or the master of a new job if no host
 * does.
 */
#ifndef ENTRYPOINT_MASTER_ROLE_LOOP_H
#define ENTRYPOINT_MASTER_ROLE_LOOP_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

/* Runs to the end of the job. Fills in role_state of OPTIONS. */
int role_loop_run(struct supervisor_options *options, int *ret_code, struct error *err);

#endif
