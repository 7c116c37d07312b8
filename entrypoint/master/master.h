/* Supervisor in the role of master: that of the first host, which runs the job for all hosts.
 *
 * It gathers the hosts (join.h), watches them (lease.h), starts the ranks (launch.h), passes stops
 * on (stop.h), collects how the ranks ended (reports.h), judges, and tries again where that may
 * help (relaunch.h). The table of phases (phase.h) says when. Its own host is member 0, which is
 * treated like the others but connected by a message queue instead of a link. */
#ifndef ENTRYPOINT_MASTER_MASTER_H
#define ENTRYPOINT_MASTER_MASTER_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

/* Callbacks of the links of members; the context is the member (state.h). */
extern const struct link_events master_member_events;

int master_run(const struct supervisor_options *options, int *ret_code, struct error *err);

#endif
